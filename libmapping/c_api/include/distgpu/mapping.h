// The C interface of distgpu (C99 and newer, and C++). It tells launchers that start tasks
// themselves what each task of a distributed training step gets. docs/c_api.md shows a program.
//
// A request (the SPEC of `srun --distgpu=SPEC`), a layout (which task runs on which node) and the
// facts of one node describe a step; from them the library makes the plan of that node. It starts
// nothing and reads neither environment nor files: the caller collects the facts and applies the
// plan.
//
// For all functions:
//  - Texts end with a zero byte. What the caller passes is copied; what the library returns belongs
//    to the object it was requested from, and lives as long as that object.
//  - A list of texts is an array that ends with NULL; a list that is NULL is empty.
//  - A create function stores the new object where its second to last argument points, or NULL if
//    it fails. The matching destroy function frees the object, and also accepts NULL.
//  - `error` may be NULL; otherwise it says why the function failed, or is empty if it succeeded.
//  - Any thread may call them. An object never changes, so threads may share it until one of them
//    destroys it. There is no other state.
#pragma once

// This is C:
// NOLINTBEGIN(modernize-avoid-c-arrays, modernize-deprecated-headers)
// NOLINTBEGIN(modernize-redundant-void-arg, readability-identifier-naming)
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DISTGPU_PUBLIC __attribute__((visibility("default")))

// The version of the interface that this header describes: 0xMMmmpp for version M.m.p.
#define DISTGPU_API_VERSION 0x000100U

// The version of the library that the program runs with, in the same form. Every version from that
// of the header up to the last one with the same soname works.
DISTGPU_PUBLIC uint32_t distgpu_api_version(void);

// What a function returns. Later versions may add values.
enum distgpu_status {
    DISTGPU_OK = 0,
    DISTGPU_EINVAL = 1,    // an argument is missing or invalid
    DISTGPU_ERANGE = 2,    // the layout has no such node
    DISTGPU_EREFUSED = 3,  // the framework cannot run in this step, or not at this port
    DISTGPU_ENOMEM = 4,    // no memory is left
    DISTGPU_EDEFECT = 5,   // a defect of the library
};

// "distgpu: what was wrong: the problem; the remedy" on one line without a newline, cut if longer.
struct distgpu_error {
    char text[1024];
};

// The request: what SPEC asks for.
struct distgpu_request;

// `spec`: MODE[,KEY[=VALUE]]... as for srun's option: "pytorch", "torchrun,nproc=4".
// EINVAL: it is invalid, or `off` or `help`, which plan nothing.
DISTGPU_PUBLIC enum distgpu_status distgpu_request_create(const char* spec,
                                                          struct distgpu_request** request,
                                                          struct distgpu_error* error);
DISTGPU_PUBLIC void distgpu_request_destroy(struct distgpu_request* request);

// The name of the mode, not an alias of it: "tensorflow" for "tf". NULL for NULL.
DISTGPU_PUBLIC const char* distgpu_request_mode(const struct distgpu_request* request);

// Whether SPEC has these keys. The caller must obey them: dry-run prints the plan and runs no
// program, verbose prints the plan and runs the program. False for NULL.
DISTGPU_PUBLIC bool distgpu_request_dry_run(const struct distgpu_request* request);
DISTGPU_PUBLIC bool distgpu_request_verbose(const struct distgpu_request* request);

// The layout. Nodes and tasks are numbered from 0, nodes in the order of the list.
struct distgpu_layout;

// The options of `distgpu plan` with the same names. NULL: not given.
struct distgpu_layout_text {
    size_t size;                 // sizeof(struct distgpu_layout_text)
    const char* nodelist;        // "node[01-02]", or "node01,node02"
    const char* nodes;           // a number N instead of a list: nodes node1 to nodeN
    const char* ntasks;          // a number, divided as Slurm does
    const char* tasks_per_node;  // "4(x2),1", or one number for every node; one task by default
    const char* distribution;    // "block" (the default), "cyclic", "plane=N", "arbitrary=NODE,..."
};

// EINVAL: the texts are invalid, contradict each other, or leave a node without a task.
DISTGPU_PUBLIC enum distgpu_status distgpu_layout_create(const struct distgpu_layout_text* text,
                                                         struct distgpu_layout** layout,
                                                         struct distgpu_error* error);
DISTGPU_PUBLIC void distgpu_layout_destroy(struct distgpu_layout* layout);

// The number of nodes and tasks of the step, and of tasks on one node. 0 for NULL, for a node that
// the layout does not have, and if no memory is left to count them.
DISTGPU_PUBLIC uint32_t distgpu_layout_node_count(const struct distgpu_layout* layout);
DISTGPU_PUBLIC uint32_t distgpu_layout_task_count(const struct distgpu_layout* layout);
DISTGPU_PUBLIC uint32_t distgpu_layout_tasks_on(const struct distgpu_layout* layout, uint32_t node);

// Stores the number of the node with this name in `node`, which stays unchanged on failure.
// ERANGE: no node has this name. EINVAL: an argument is NULL.
DISTGPU_PUBLIC enum distgpu_status distgpu_layout_find_node(const struct distgpu_layout* layout,
                                                            const char* name, uint32_t* node,
                                                            struct distgpu_error* error);

// The topology: the hardware of a node.
struct distgpu_topology;

// `json`: the output of `distgpu topo --format json` on the node. EINVAL: it is something else.
DISTGPU_PUBLIC enum distgpu_status distgpu_topology_create(const char* json,
                                                           struct distgpu_topology** topology,
                                                           struct distgpu_error* error);
DISTGPU_PUBLIC void distgpu_topology_destroy(struct distgpu_topology* topology);

// The number of GPUs of the node, which are numbered from 0 by PCI address. 0 for NULL.
DISTGPU_PUBLIC uint32_t distgpu_topology_gpu_count(const struct distgpu_topology* topology);

// What one node gives to the step. A field that is 0 or NULL gives no information, so a caller may
// fill in only the size and what it knows.
struct distgpu_facts {
    size_t size;  // sizeof(struct distgpu_facts)

    // Host names or IP addresses; NULL: the name of the node is used.
    const char* rank0_address;   // how the tasks reach the node of rank 0
    const char* node_address;    // how the other nodes reach this one
    const char* node_interface;  // the network interface with that address: "ib0"

    // What the user exported. `exported`: names of variables; those that distgpu leaves to the user
    // (OMP_NUM_THREADS, NCCL_IB_HCA, ...) are not set if they are in the list.
    const char* master_addr;
    const char* master_port;
    const char* const* exported;
    const char* reserved_ports;  // "20830-20832,20840": what the launcher reserved for the step

    // For binding. Without a topology or masks, CPUs and GPUs stay as they are.
    const struct distgpu_topology* topology;
    const char* const* cpu_masks;      // where each task may run: "0-3,8", by local rank
    const uint32_t* gpu_indices;       // numbers of the step's GPUs in the topology, `gpus` of them
    const char* const* gpu_names;      // what the tasks call them; NULL: their numbers
    const char* const* gpu_variables;  // which variables hold these names: "CUDA_VISIBLE_DEVICES"

    // The port is derived from these. Steps that run side by side get different ports.
    uint32_t job_id;
    uint32_t step_id;
    uint32_t restart_count;

    uint32_t gpus;           // GPUs that a task of the step sees; at most 8192, like the next two
    uint32_t cpus;           // CPUs of the step on this node; 0: one
    uint32_t cpus_per_task;  // CPUs requested for each task; 0: not known

    uint32_t confined;    // 1: the masks hold only the step's CPUs, so they may be divided
    uint32_t user_bound;  // 1: the user chose the masks, so they stay
};

struct distgpu_variable {
    const char* name;
    const char* value;
};

// One task. Later versions may add fields at the end.
struct distgpu_task {
    uint32_t rank;        // in the framework's world, 0 .. world_size - 1
    uint32_t local_rank;  // among the node's tasks
    uint32_t node_rank;   // of its node, in the framework's world

    // For the task's environment: first unset these names (one that ends with '*' stands for all
    // names that begin with the text before it), then set the variables.
    const char* const* unset;
    size_t variable_count;
    const struct distgpu_variable* variables;

    const char* cpus;      // where it must run: "0-3,8"; NULL: unchanged
    size_t gpu_count;      // 0: none, or not known
    const uint32_t* gpus;  // its own GPUs, by their numbers in the topology, nearest first
};

// The plan of one node. Later versions may add fields at the end.
struct distgpu_node_plan {
    const char* node_name;
    uint32_t node_count;  // of the step
    uint32_t world_size;  // tasks of the step

    // Where the processes meet.
    const char* address;  // a host name, an IPv4 or a bare IPv6 address
    uint32_t port;

    uint32_t task_count;                      // of this node
    const struct distgpu_task* const* tasks;  // by local rank
    const char* const* warnings;              // what may be unintended, one line each
};

// `node`: its number in the layout. `facts`: NULL if nothing is known. `request`, `layout` and the
// topology in the facts may be destroyed afterwards.
// ERANGE: no such node. EREFUSED: as described above. EINVAL: request, layout or plan is NULL; a
// fact is invalid; there are masks for more or fewer tasks than the node has.
DISTGPU_PUBLIC enum distgpu_status distgpu_node_plan_create(const struct distgpu_request* request,
                                                            const struct distgpu_layout* layout,
                                                            const struct distgpu_facts* facts,
                                                            uint32_t node,
                                                            const struct distgpu_node_plan** plan,
                                                            struct distgpu_error* error);
DISTGPU_PUBLIC void distgpu_node_plan_destroy(const struct distgpu_node_plan* plan);

#ifdef __cplusplus
}
#endif
// NOLINTEND(modernize-redundant-void-arg, readability-identifier-naming)
// NOLINTEND(modernize-avoid-c-arrays, modernize-deprecated-headers)
