#include "inspect/look.h"

#include "base/json_fields.h"

#include <algorithm>

namespace distgpu {
namespace {

constexpr std::string_view schema = "distgpu.look/1";

JsonText frame_json(const Frame& frame) {
    return {{"function", frame.function}, {"file", frame.file}, {"line", frame.line}};
}

JsonText moment_json(const Moment& moment) {
    return {{"state", std::string_view(&moment.state, 1)},
            {"cpu", moment.cpu},
            {"wakings", moment.wakings},
            {"channel", moment.wait_channel},
            {"stack", moment.stack}};
}

JsonText connection_json(const Connection& connection) {
    return {
        {"peer", connection.peer}, {"unsent", connection.unsent}, {"unread", connection.unread}};
}

JsonText work_json(const Work& work) {
    return {{"main_switches", work.main_switches},
            {"main_ticks", work.main_ticks},
            {"switches", work.switches},
            {"ticks", work.ticks},
            {"reaped_ticks", work.reaped_ticks}};
}

JsonText process_json(const ProcessLook& process) {
    return {{"pid", process.pid},
            {"parent", process.parent},
            {"begin", process.begin},
            {"name", process.name},
            {"command", process.command},
            {"python", process.is_python},
            {"task", process.task},
            {"rank", process.rank},
            {"world_size", process.world_size},
            {"moments", JsonText::list(process.moments, moment_json)},
            {"connections", JsonText::list(process.connections, connection_json)},
            {"exit_code", process.exit_code},
            {"gpus", JsonText::list(process.gpus)},
            {"work_before", work_json(process.work_before)},
            {"work_after", work_json(process.work_after)}};
}

std::optional<std::uint32_t> optional_number(const JsonFields& fields, const char* name) {
    if (fields.value(name).is_null()) return std::nullopt;
    return fields.count<std::uint32_t>(name);
}

Frame read_frame(const JsonFields& fields) {
    return {fields.text("function"), fields.text("file"), fields.count<std::uint32_t>("line")};
}

Moment read_moment(const JsonFields& fields) {
    const std::string state = fields.text("state");
    if (state.size() != 1) fields.refuse("state", "not a letter");
    return {state.empty() ? '?' : state.front(), fields.number("cpu"),
            fields.count<std::uint64_t>("wakings"), fields.text("channel"),
            optional_number(fields, "stack")};
}

Connection read_connection(const JsonFields& fields) {
    return {fields.text("peer"), fields.count<std::uint64_t>("unsent"),
            fields.count<std::uint64_t>("unread")};
}

JsonText gpu_json(const GpuLook& gpu) {
    return {{"pci", gpu.pci},
            {"busy", JsonText::list(gpu.busy, [](const auto& busy) { return JsonText(busy); })}};
}

GpuLook read_gpu(const JsonFields& fields) {
    constexpr std::uint64_t most = 100;
    GpuLook gpu{fields.text("pci")};
    for (const JsonValue& value : fields.list("busy")) {
        const auto busy = value.whole();
        if (!value.is_null() && (!busy || *busy > most)) fields.refuse("busy", "no percentage");
        gpu.busy.push_back(busy ? std::optional(static_cast<std::uint32_t>(*busy)) : std::nullopt);
    }
    return gpu;
}

// One that is missing would look like one that did nothing.
Work read_work_of(const JsonFields& fields, const char* name) {
    const auto work = fields.optional_object(name, [](const JsonFields& counts) {
        const auto count = [&](const char* each) { return counts.count<std::uint64_t>(each); };
        return Work{count("main_switches"), count("main_ticks"), count("switches"), count("ticks"),
                    count("reaped_ticks")};
    });
    if (!work) fields.refuse(name, "missing");
    return work.value_or(Work{});
}

ProcessLook read_process(const JsonFields& fields) {
    ProcessLook process;
    process.pid = fields.count<pid_t>("pid");
    process.parent = fields.count<pid_t>("parent");
    process.begin = fields.count<std::uint64_t>("begin");
    process.name = fields.text("name");
    process.command = fields.text("command");
    process.is_python = fields.flag("python");
    process.task = optional_number(fields, "task");
    process.rank = optional_number(fields, "rank");
    process.world_size = optional_number(fields, "world_size");
    process.moments = fields.objects("moments", read_moment);
    process.connections = fields.objects("connections", read_connection);
    if (!fields.value("exit_code").is_null()) process.exit_code = fields.count<int>("exit_code");
    process.gpus = fields.texts("gpus");
    process.work_before = read_work_of(fields, "work_before");
    process.work_after = read_work_of(fields, "work_after");
    return process;
}

// What the rest of the program relies on.
bool is_sound(const NodeLook& look) {
    const bool gpus_are = std::all_of(look.gpus.begin(), look.gpus.end(), [&](const GpuLook& gpu) {
        return gpu.busy.size() == look.times.size();
    });
    return gpus_are &&
           std::all_of(look.processes.begin(), look.processes.end(),
                       [&](const ProcessLook& process) {
                           return process.moments.size() == look.times.size() &&
                                  std::all_of(process.moments.begin(), process.moments.end(),
                                              [&](const Moment& moment) {
                                                  return !moment.stack ||
                                                         *moment.stack < look.stacks.size();
                                              });
                       });
}

}  // namespace

std::vector<pid_t> pids_of(const NodeLook& look) {
    std::vector<pid_t> pids;
    pids.reserve(look.processes.size());
    for (const ProcessLook& process : look.processes) pids.push_back(process.pid);
    return pids;
}

JsonText to_json(const NodeLook& look) {
    return {{"schema", schema},
            {"node", look.node},
            {"times", JsonText::list(look.times)},
            {"tasks", JsonText::list(look.tasks)},
            {"processes", JsonText::list(look.processes, process_json)},
            {"stacks", JsonText::list(look.stacks,
                                      [](const Stack& stack) -> JsonText {
                                          return {{"frames", JsonText::list(stack, frame_json)}};
                                      })},
            {"gpus", JsonText::list(look.gpus, gpu_json)},
            {"problem", look.problem},
            {"traffic", look.traffic},
            {"nccl", look.nccl},
            {"records", JsonText::list(look.records)}};
}

std::optional<NodeLook> read_node_look(std::string_view text) {
    NodeLook look;
    const auto problem = read_json(text, [&](const JsonFields& fields) {
        if (fields.text("schema") != schema) fields.refuse("schema", "another");
        look.node = fields.text("node");
        look.times = fields.numbers("times");
        constexpr std::size_t most_tasks = std::size_t{1} << 32U;
        look.tasks = fields.indices("tasks", most_tasks);
        look.processes = fields.objects("processes", read_process);
        look.stacks = fields.objects("stacks", [](const JsonFields& stack) {
            return Stack(stack.objects("frames", read_frame));
        });
        look.gpus = fields.objects("gpus", read_gpu);
        look.problem = fields.text("problem");
        look.traffic = fields.count<std::uint64_t>("traffic");
        look.nccl = fields.text("nccl");
        look.records = fields.texts("records");
    });
    if (problem || !is_sound(look)) return std::nullopt;
    return look;
}

}  // namespace distgpu
