#include "why/evidence.h"

#include "inspect/process_facts.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace distgpu {
namespace {

constexpr double ticks_per_second = 100;  // USER_HZ, the same on all machines that Linux runs on

// Whether a thread with this wait channel waits for a file system: NFS, FUSE, Lustre, GPFS, BeeGFS,
// 9p, or any through the page cache (sources of the kernel and the file systems).
bool is_file_system_wait(std::string_view channel) {
    constexpr std::array<std::string_view, 12> beginnings{
        "request_wait_answer", "fuse_",   "rpc_wait_bit", "nfs", "folio_wait", "wait_on_page",
        "io_schedule",         "ptlrpc_", "ldlm_",        "cl_", "p9_client",  "cxi"};
    return std::ranges::any_of(
        beginnings, [&](std::string_view beginning) { return channel.starts_with(beginning); });
}

// The moments at which the process was seen.
std::vector<const Moment*> seen_moments(const ProcessSample& process) {
    std::vector<const Moment*> seen;
    for (const Moment& moment : process.moments) {
        if (moment.state != '?') seen.push_back(&moment);
    }
    return seen;
}

// Adds what the process did itself between two moments.
void add_work(const Work& before, const Work& after, Work& done) {
    for (const auto count : {&Work::main_switches, &Work::main_ticks, &Work::ticks,
                             &Work::child_ticks, &Work::file_bytes, &Work::peer_bytes}) {
        done.*count += std::max(after.*count, before.*count) - before.*count;
    }
}

// Of one process. Holds pointers into the sample.
class Record {
  public:
    Record(const NodeSample& sample, const ProcessSample& process)
        : process_(process), moments_(seen_moments(process)) {
        for (std::size_t i = 1; i < moments_.size(); ++i) {
            add_work(moments_[i - 1]->after, moments_[i]->before, done_);
        }
        const auto& ends = sample.ends.empty() ? sample.times : sample.ends;
        for (std::size_t i = 1; i < process.moments.size(); ++i) {
            if (process.moments[i - 1].state != '?') seconds_ += sample.times[i] - ends[i - 1];
        }
        for (const Moment* moment : moments_) {
            if (moment->stack) stacks_.push_back(&sample.stacks[*moment->stack]);
        }
        if (process.native) native_ = &sample.stacks[*process.native];
    }

    Evidence evaluate() const {
        Evidence evidence;
        if (moments_.empty()) return evidence;
        evidence.activity = activity();
        evidence.wakeups = done_.main_switches;
        evidence.cpu = seconds_ > 0 ? cpu_seconds(done_.ticks) / seconds_ : 0;
        if (!stacks_.empty()) {
            evidence.stack = *stacks_.back();
            evidence.site = call_site_of(evidence.stack, last_native());
        }
        const Wait wait = this->wait();
        evidence.waits_for = wait.what;
        evidence.progress = progress(wait, evidence);
        const bool can_poll =
            evidence.activity == Activity::awake || evidence.activity == Activity::running;
        evidence.is_polling = can_poll && evidence.progress == Progress::none &&
                              evidence.waits_for == WaitsFor::nothing;
        if (evidence.is_polling && !stacks_.empty()) {
            evidence.stack = common_stack(stacks_);
            evidence.site = call_site_of(evidence.stack);
        }
        return evidence;
    }

  private:
    static double cpu_seconds(std::uint64_t ticks) {
        return static_cast<double>(ticks) / ticks_per_second;
    }

    // More than that share of a CPU, and than its clock's resolution.
    bool used_cpu(std::uint64_t ticks, double share) const {
        return ticks > 2 && cpu_seconds(ticks) > share * seconds_;
    }

    template <class Property>
    bool is_always(Property&& property) const {
        return std::ranges::all_of(moments_,
                                   [&](const Moment* moment) { return property(*moment); });
    }

    template <class Property>
    bool is_mostly(Property&& property) const {
        const auto count = std::ranges::count_if(
            moments_, [&](const Moment* moment) { return property(*moment); });
        return 2 * static_cast<std::size_t>(count) > moments_.size();
    }

    // The machine code belongs to the last Python stack.
    const Stack* last_native() const { return moments_.back()->stack ? native_ : nullptr; }

    Activity activity() const {
        if (is_always([](const Moment& m) { return m.state == 'T' || m.state == 't'; })) {
            return Activity::stopped;
        }
        const auto is_in_kernel = [](const Moment& m) {
            return m.state == 'D' || is_file_system_wait(m.wait_channel);
        };
        if (is_always(is_in_kernel)) return Activity::in_kernel;
        // A process that shares its CPU with others counts as running, even if it gets little of
        // it.
        constexpr double busy = 0.5;
        const auto is_ready = [](const Moment& m) { return m.state == 'R'; };
        if (cpu_seconds(done_.main_ticks) > busy * seconds_ || is_always(is_ready)) {
            return Activity::running;
        }
        return done_.main_switches == 0 ? Activity::asleep : Activity::awake;
    }

    // What it waits for at the last moment, and from when on.
    struct Wait {
        WaitsFor what = WaitsFor::nothing;
        bool has_begun = false;  // after the first moment
    };

    Wait wait() const {
        if (stacks_.empty()) return {};
        // One that asks again and again whether its request is done.
        if (is_always([](const Moment& m) { return !m.stack || m.has_request; })) {
            return {WaitsFor::ranks};
        }
        const Stack& last = *stacks_.back();
        const WaitsFor what = waits_for(last, last_native());
        const bool is_known_by_machine_code = what != waits_for(last);
        const auto is_same = [&](const Stack* stack) {
            return is_known_by_machine_code ? *stack == last : waits_for(*stack) == what;
        };
        const auto first = std::ranges::find_if(stacks_, is_same);
        // Otherwise it waits for a while, does something else and waits again: it polls.
        if (!std::all_of(first, stacks_.end(), is_same)) return {};
        return {what, first != stacks_.begin()};
    }

    Progress progress(const Wait& wait, const Evidence& evidence) const {
        constexpr double file_bytes_per_second = 65'536;  // a log, a store's server, a lock file
        constexpr double child_cpu = 0.05;
        constexpr double own_cpu = 0.2;
        const auto chatter = static_cast<double>(process_.chatter);
        if (static_cast<double>(done_.peer_bytes) > chatter * seconds_) return Progress::messages;
        if (static_cast<double>(done_.file_bytes) > file_bytes_per_second * seconds_) {
            return Progress::files;
        }
        if (used_cpu(done_.child_ticks, child_cpu) ||
            is_mostly([](const Moment& m) { return m.has_running_child; })) {
            return Progress::children;
        }
        const bool may_compute = wait.what == WaitsFor::nothing || wait.what == WaitsFor::backward;
        const bool has_used_cpu = used_cpu(done_.main_ticks, own_cpu) ||
                                  (may_compute && evidence.activity == Activity::running);
        if (stacks_.empty()) {
            const bool ran =
                evidence.activity == Activity::awake || evidence.activity == Activity::running;
            return ran ? Progress::unknown : Progress::none;
        }
        if (may_compute && has_used_cpu && !spins()) return Progress::computing;
        for (std::size_t i = 1; i < stacks_.size(); ++i) {
            if (runs_other_code(*stacks_[i - 1], *stacks_[i])) return Progress::functions;
        }
        if (wait.what == WaitsFor::ranks && wait.has_begun) return Progress::functions;
        // Who asks for a rendezvous may count how often.
        const bool may_count = wait.what == WaitsFor::ranks && !evidence.site.is_collective;
        return !may_count && has_changed_variables() ? Progress::variables : Progress::none;
    }

    // Whether it runs Python code that changes nothing: the same functions with the same variables,
    // and no machine code below them.
    bool spins() const {
        const auto has_same_functions = [&](const Stack* stack) {
            return !runs_other_code(*stack, *stacks_.back()) &&
                   stack->size() == stacks_.back()->size();
        };
        if (stacks_.size() < 2 || !std::ranges::all_of(stacks_, has_same_functions)) return false;
        if (moments_.back()->variables.empty() || has_any_change()) return false;
        const Stack* const native = last_native();
        if (native != nullptr && !native->empty()) return native->back().line > 0;
        return is_mostly([](const Moment& m) { return m.holds_gil; });
    }

    bool has_any_change() const {
        std::set<std::string_view> known;
        for (const Moment* moment : moments_) known.insert(moment->variables);
        known.erase("");
        return known.size() > 1;
    }

    // A loop that sleeps may count how often.
    bool has_changed_variables() const {
        const auto is_unclear = [](const Moment& m) {
            return m.has_request || is_sleep(m.wait_channel, m.system_call);
        };
        return has_any_change() && !is_mostly(is_unclear);
    }

    const ProcessSample& process_;
    std::vector<const Moment*> moments_;
    std::vector<const Stack*> stacks_;
    const Stack* native_ = nullptr;
    Work done_;
    double seconds_ = 0;
};

}  // namespace

Evidence evidence_of(const NodeSample& sample, const ProcessSample& process) {
    return Record(sample, process).evaluate();
}

}  // namespace distgpu
