// The types are those of the release whose headers the plugin was compiled with; only that release
// loads it. Functions that slurm.h declares are looked up with the type declared there, so that the
// plugin does not compile for a release that changes one: calling it with other arguments would
// crash slurmstepd.
#include "slurm_calls.h"

#include "base/format.h"
#include "base/io/resolve.h"
#include "base/values.h"
#include "node/machine.h"
#include "node/network.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace distgpu {
namespace {

// A function of the host process, or null.
template <class Function>
Function* find_function(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// A reply that Slurm allocated. Slurm's function of this name frees it, if the process has it.
template <class T>
using Reply = std::unique_ptr<T, std::function<void(T*)>>;
template <class Free, class T>
Reply<T> owned_reply(T* reply, const char* function) {
    return {reply, [function](T* allocated) {
                if (auto* const free = find_function<Free>(function)) free(allocated);
            }};
}

Error layout_error(std::uint32_t job, std::uint32_t step, std::string problem) {
    return {formatted("task map of step {}.{}", job, step), std::move(problem),
            "run it again; if the problem persists, ask the administrator"};
}

slurm_step_id_t step_id(std::uint32_t job, std::uint32_t step,
                        std::optional<std::uint32_t> component) {
    slurm_step_id_t id;
    std::memset(&id, 0, sizeof(id));
    id.job_id = job;
    id.step_id = step;
    id.step_het_comp = component.value_or(NO_VAL);
    return id;
}

// Later releases expect a slurm_step_id_t instead of the job's number.
template <class Load>
Reply<job_info_msg_t> load_job(Load* load, std::uint32_t job) {
    job_info_msg_t* reply = nullptr;
    if (load == nullptr) return {};
    if constexpr (std::is_invocable_v<Load, job_info_msg_t**, std::uint32_t, std::uint16_t>) {
        load(&reply, job, SHOW_ALL);
    } else {
        load(&reply, step_id(job, NO_VAL, std::nullopt), SHOW_ALL);
    }
    return owned_reply<decltype(slurm_free_job_info_msg)>(reply, "slurm_free_job_info_msg");
}

// What `read` returns for slurmctld's record of the job. One RPC; nullopt without an answer.
template <class Read>
std::optional<std::invoke_result_t<Read, const slurm_job_info_t&>> of_job(std::uint32_t job,
                                                                          Read read) {
    const auto reply = load_job(find_function<decltype(slurm_load_job)>("slurm_load_job"), job);
    for (std::uint32_t i = 0; reply && i < reply->record_count; ++i) {
        if (reply->job_array[i].job_id == job) return read(reply->job_array[i]);
    }
    return std::nullopt;
}

std::string queried_address(const std::string& node_name) {
    auto* const load = find_function<decltype(slurm_load_node_single)>("slurm_load_node_single");
    if (load == nullptr) return {};
    node_info_msg_t* raw = nullptr;
    std::string name = node_name;
    if (load(&raw, name.data(), 0) != SLURM_SUCCESS || raw == nullptr) return {};
    const auto reply =
        owned_reply<decltype(slurm_free_node_info_msg)>(raw, "slurm_free_node_info_msg");
    if (reply->record_count == 0 || reply->node_array[0].node_addr == nullptr) return {};
    return reply->node_array[0].node_addr;
}

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
std::string numeric_address(const slurm_addr_t& address) {
    std::array<char, NI_MAXHOST> text{};
    const int failure = getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof(address),
                                    text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
    return failure == 0 ? text.data() : std::string();
}

// The nodes' current addresses, also of cloud nodes; PrivateData=nodes does not hide them. One for
// each node, in their order, or empty.
std::vector<std::string> current_addresses(const HostList& nodes) {
    auto* const query =
        find_function<decltype(slurm_get_node_alias_addrs)>("slurm_get_node_alias_addrs");
    if (query == nullptr) return {};
    slurm_node_alias_addrs_t* raw = nullptr;
    std::string list = nodes.to_string();
    if (query(list.data(), &raw) != SLURM_SUCCESS || raw == nullptr) return {};
    const auto reply =
        owned_reply<void(slurm_node_alias_addrs_t*)>(raw, "slurm_free_node_alias_addrs");
    std::vector<std::string> addresses;
    const auto answered = reply->node_list == nullptr ? Result<HostList>(HostList{})
                                                      : HostList::parse(reply->node_list);
    if (reply->node_addrs != nullptr && reply->node_cnt == nodes.size() && answered &&
        *answered == nodes) {
        for (std::uint32_t i = 0; i < reply->node_cnt; ++i) {
            addresses.push_back(numeric_address(reply->node_addrs[i]));
        }
    }
    return addresses;
}
#else
// From SLURM_NODE_ALIASES, in which 22.05 passes the addresses of cloud nodes:
// "name:[address]:hostname,...".
std::string aliased_address(const std::string& node_name) {
    const char* const variable = std::getenv("SLURM_NODE_ALIASES");
    std::string_view rest = variable == nullptr ? "" : variable;
    while (!rest.empty()) {
        std::string_view address = cut_until(rest, ',');
        if (cut_until(address, ':') != node_name) continue;
        const bool has_brackets = address.starts_with('[');
        if (has_brackets) address.remove_prefix(1);
        return std::string(cut_until(address, has_brackets ? ']' : ':'));
    }
    return {};
}

std::vector<std::string> current_addresses(const HostList& nodes) {
    std::vector<std::string> addresses;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        addresses.push_back(aliased_address(nodes.name(NodeIndex{i})));
    }
    return addresses;
}
#endif

// Calls a Slurm function that looks up a name in slurm.conf and returns an allocated text; empty if
// it finds none.
std::string look_up_configured(const char* function, const std::string& name) {
    auto* const query = find_function<char*(const char*)>(function);
    auto* const free = find_function<void(void**)>("slurm_xfree");
    char* text = query == nullptr ? nullptr : query(name.c_str());
    if (text == nullptr) return {};
    std::string answer = text;
    void* allocated = text;
    if (free != nullptr) free(&allocated);
    return answer;
}

// This process's slurm.conf; null if it does not have it. `slurm_conf` is declared in
// read_config.h, and slurmd sends slurmstepd most of it (22.05 to 26.11-dev).
const slurm_conf_t* slurm_configuration() {
    return static_cast<const slurm_conf_t*>(dlsym(RTLD_DEFAULT, "slurm_conf"));
}

// Fills gaps in `addresses`, which are in the nodes' order and may be empty.
HostList addresses_or_names(const HostList& nodes, std::vector<std::string> addresses) {
    addresses.resize(nodes.size());
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        std::string name = nodes.name(NodeIndex{i});
        if (addresses[i].empty()) addresses[i] = configured_node_address(name);
        if (addresses[i].empty()) addresses[i] = std::move(name);
    }
    return HostList::from_names(addresses);
}

// The one address of a host that other machines can reach; empty if there is none, or several.
// Slurm prefers IPv4. Older releases tell the addresses of their nodes without an RPC.
std::string only_address(const std::string& host) {
    if (is_ip_address(host)) return host;
    if constexpr (SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)) return {};
    auto found = resolve(host, 0, Clock::now() + name_lookup_timeout);
    if (!found) return {};
    const auto is_ipv4 = [](const Address& address) { return address.bytes.ss_family == AF_INET; };
    if (std::ranges::any_of(*found, is_ipv4)) std::erase_if(*found, std::not_fn(is_ipv4));
    return found->size() == 1 && !found->front().is_loopback() ? found->front().to_string() : "";
}

// glibc's functions of these names change all threads of a process.
bool set_effective(uid_t user, gid_t group) {
    constexpr auto same = static_cast<uid_t>(-1);
    // Only root may change the group: set it first when becoming the user, last when returning.
    const auto set_group = [&] { return syscall(SYS_setresgid, same, group, same) == 0; };
    const auto set_user = [&] { return syscall(SYS_setresuid, same, user, same) == 0; };
    return user == 0 ? set_user() && set_group() : set_group() && set_user();
}

}  // namespace

Result<StepLayout> query_layout(std::uint32_t job, std::uint32_t step,
                                std::optional<std::uint32_t> component) {
    auto* const query =
        find_function<decltype(slurm_job_step_layout_get)>("slurm_job_step_layout_get");
    if (query == nullptr) return layout_error(job, step, "this Slurm does not support the query");
    slurm_step_id_t id = step_id(job, step, component);
    const auto reply =
        owned_reply<decltype(slurm_job_step_layout_free)>(query(&id), "slurm_job_step_layout_free");
    if (!reply || reply->node_list == nullptr) {
        return layout_error(job, step, formatted("slurmctld did not answer (error {})", errno));
    }
    std::vector<std::vector<std::uint32_t>> tasks(reply->node_cnt);
    for (std::uint32_t node = 0; node < reply->node_cnt; ++node) {
        tasks[node].assign(reply->tids[node], reply->tids[node] + reply->tasks[node]);
    }
    auto layout = HostList::parse(reply->node_list).and_then([&](HostList hosts) {
        return StepLayout::from_task_lists(std::move(hosts), tasks);
    });
    if (layout) return layout;
    return layout_error(job, step, "slurmctld's answer contradicts itself");
}

std::string node_name() {
    std::string short_host = short_host_name();
    for (const std::string& known : {short_host, host_name()}) {
        std::string name = look_up_configured("slurm_conf_get_nodename", known);
        if (!name.empty()) return name;
    }
    return short_host;
}

std::string configured_node_address(const std::string& node_name) {
    return look_up_configured("slurm_conf_get_address", node_name);
}

std::string node_address(const std::string& node_name) {
    const auto current = current_addresses(HostList::from_names(std::array{node_name}));
    if (!current.empty() && !current.front().empty()) return current.front();
    std::string address = configured_node_address(node_name);
    return address.empty() ? queried_address(node_name) : address;
}

HostList node_addresses(const HostList& nodes) {
    return addresses_or_names(nodes, current_addresses(nodes));
}

HostList configured_node_addresses(const HostList& nodes) {
    return addresses_or_names(nodes, {});
}

HostList fixed_node_addresses(const HostList& nodes) {
    const auto* const configuration = slurm_configuration();
    if (configuration == nullptr || configuration->resume_program != nullptr) return {};
    std::vector<std::string> addresses;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        const std::string configured = configured_node_address(nodes.name(NodeIndex{i}));
        // One question to slurmctld is faster than many to the name service.
        const bool is_used =
            is_ip_address(configured) || (nodes.size() == 1 && !configured.empty());
        addresses.push_back(is_used ? only_address(configured) : "");
        if (addresses.back().empty()) return {};
    }
    return HostList::from_names(addresses);
}

bool may_follow_topology() {
    if constexpr (SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)) return false;
    const auto* const configuration = slurm_configuration();
    if (configuration == nullptr || configuration->topology_plugin == nullptr ||
        std::strcmp(configuration->topology_plugin, "topology/flat") != 0) {
        return true;
    }
    // This file, if it is there, takes precedence over slurm.conf (topology_g_init(), 26.05).
    const std::string file = look_up_configured("get_extra_conf_path", "topology.yaml");
    return file.empty() || access(file.c_str(), F_OK) == 0;
}

std::optional<Numbering> gpu_numbering() {
    auto* const query = find_function<bool()>("gres_use_local_device_index");
    if (query == nullptr) return std::nullopt;
    return query() ? Numbering::opened : Numbering::node;
}

bool allocates_gpus() {
    const auto* const configuration = slurm_configuration();
    if (configuration == nullptr || configuration->gres_plugins == nullptr) return false;
    const auto types = comma_items(configuration->gres_plugins);
    return std::find(types.begin(), types.end(), "gpu") != types.end();
}

bool kills_on_bad_exit() {
    const auto* const configuration = slurm_configuration();
    return configuration != nullptr && configuration->kill_on_bad_exit != 0;
}

bool is_job_ending(std::uint32_t job) {
    return of_job(job,
                  [](const slurm_job_info_t& known) {
                      return known.job_state != JOB_RUNNING || known.preempt_time != 0 ||
                             known.end_time <= std::time(nullptr);
                  })
        .value_or(false);
}

std::optional<std::time_t> job_end_time(std::uint32_t job) {
    return of_job(job, [](const slurm_job_info_t& known) { return known.end_time; });
}

std::optional<std::uint32_t> het_leader(std::uint32_t job) {
    const auto leader = of_job(job, [](const slurm_job_info_t& known) { return known.het_job_id; });
    return leader && *leader != 0 ? leader : std::nullopt;
}

bool is_debugged() {
    const auto* const debugged =
        static_cast<const int*>(dlsym(RTLD_DEFAULT, "MPIR_being_debugged"));
    return debugged != nullptr && *debugged != 0;
}

std::chrono::seconds kill_wait() {
    constexpr std::uint16_t default_seconds = 30;
    const auto* const configuration = slurm_configuration();
    return std::chrono::seconds(configuration == nullptr ? default_seconds
                                                         : configuration->kill_wait);
}

void signal_step(std::uint32_t job, std::uint32_t step, std::uint16_t signal) {
    auto* const kill = find_function<decltype(slurm_kill_job_step)>("slurm_kill_job_step");
    if (kill == nullptr) return;
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
    slurm_step_id_t id = step_id(job, step, std::nullopt);
    kill(&id, signal, 0);
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
    kill(job, step, signal, 0);
#else
    kill(job, step, signal);
#endif
}

AsUser::AsUser(spank_t spank) {
    uid_t user = 0;
    gid_t group = 0;
    if (geteuid() != 0 || spank_get_item(spank, S_JOB_UID, &user) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &group) != ESPANK_SUCCESS) {
        return;
    }
    is_user_ = set_effective(user, group);
    if (!is_user_) set_effective(0, getgid());  // in case only the group was changed
}

AsUser::~AsUser() {
    // Cannot fail; if it does, abort, because a daemon that continued as the user would fail later.
    if (is_user_ && !set_effective(0, getgid())) std::abort();
}

std::optional<HelperUser> step_user(spank_t spank) {
    HelperUser user;
    gid_t* groups = nullptr;
    int count = 0;
    if (spank_get_item(spank, S_JOB_UID, &user.user) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &user.group) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_SUPPLEMENTARY_GIDS, &groups, &count) != ESPANK_SUCCESS) {
        return std::nullopt;
    }
    if (groups != nullptr && count > 0) user.groups.assign(groups, groups + count);
    return user;
}

}  // namespace distgpu
