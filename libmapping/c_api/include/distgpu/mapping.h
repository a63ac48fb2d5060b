// distgpu in C (C99 and newer, and C++): what each task of a distributed training step gets, for
// launchers that start the tasks themselves. docs/c_api.md shows a program.
//
// A step is described by a request (the SPEC of `srun --distgpu=SPEC`), a layout (which task runs
// on which node) and the facts of one node; of these the library makes that node's plan. It starts
// nothing and reads neither environment nor files: the caller collects and applies.
//
// For all functions:
//  - Texts end with a zero byte. What the caller passes is copied; what the library returns belongs
//    to the object that it was asked of, and lives as long as that.
//  - A list of texts is an array that ends with NULL; a list that is NULL is empty.
//  - A create function puts the new object where its last but one argument points, NULL where it
//    fails; the matching destroy function frees it, and takes NULL too.
//  - `error` may be NULL; otherwise it says why a function failed, and is empty where none did.
//  - They may be called by any thread. An object never changes, so threads may share it until one
//    of them destroys it. There is no other state.
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

// The interface that this header describes: 0xMMmmpp of version M.m.p.
#define DISTGPU_API_VERSION 0x000100U

// The interface of the library that the program runs with, in the same form. Any one from that of
// the header to the end of the same soname will do.
DISTGPU_PUBLIC uint32_t distgpu_api_version(void);

// What a function answers. Later versions may add values.
enum distgpu_status {
    DISTGPU_OK = 0,
    DISTGPU_EINVAL = 1,    // an argument is missing, or not what it is described as
    DISTGPU_ERANGE = 2,    // the layout has no such node
    DISTGPU_EREFUSED = 3,  // the framework cannot run in this step, or not at this port
    DISTGPU_ENOMEM = 4,    // no memory is left
    DISTGPU_EDEFECT = 5,   // a defect of the library
};

// "distgpu: what was wrong: the problem; the remedy": one line without a newline, cut where longer.
struct distgpu_error {
    char text[1024];
};

// The request: what SPEC asks for.
struct distgpu_request;

// `spec`: MODE[,KEY[=VALUE]]... as srun's option takes it: "pytorch", "torchrun,nproc=4".
// EINVAL: it is none; also `off` and `help`, which plan nothing.
DISTGPU_PUBLIC enum distgpu_status distgpu_request_create(const char* spec,
                                                          struct distgpu_request** request,
                                                          struct distgpu_error* error);
DISTGPU_PUBLIC void distgpu_request_destroy(struct distgpu_request* request);

// The framework's own word, also where an alias was given: "tensorflow" of "tf". NULL of NULL.
DISTGPU_PUBLIC const char* distgpu_request_mode(const struct distgpu_request* request);

// Whether SPEC has these keys, which are the caller's to obey: print the plan and run no program;
// print it besides. False of NULL.
DISTGPU_PUBLIC bool distgpu_request_dry_run(const struct distgpu_request* request);
DISTGPU_PUBLIC bool distgpu_request_verbose(const struct distgpu_request* request);

// The layout: nodes and tasks are numbered from 0, nodes in the order of the list.
struct distgpu_layout;

// What `distgpu plan` takes under the same names. NULL: not given.
struct distgpu_layout_text {
    size_t size;                 // sizeof(struct distgpu_layout_text)
    const char* nodelist;        // "node[01-02]", or "node01,node02"
    const char* nodes;           // a number N in place of a list, for nodes node1 to nodeN
    const char* ntasks;          // a number, dealt as Slurm does
    const char* tasks_per_node;  // "4(x2),1", or one number for every node; one task by default
    const char* distribution;    // "block" (the default), "cyclic", "plane=N", "arbitrary=NODE,..."
};

// EINVAL: the texts are not such, contradict each other, or leave a node without a task.
DISTGPU_PUBLIC enum distgpu_status distgpu_layout_create(const struct distgpu_layout_text* text,
                                                         struct distgpu_layout** layout,
                                                         struct distgpu_error* error);
DISTGPU_PUBLIC void distgpu_layout_destroy(struct distgpu_layout* layout);

// Nodes and tasks of the step; tasks of one node. 0 of NULL, of a node that it does not have, and
// where no memory is left to count them.
DISTGPU_PUBLIC uint32_t distgpu_layout_node_count(const struct distgpu_layout* layout);
DISTGPU_PUBLIC uint32_t distgpu_layout_task_count(const struct distgpu_layout* layout);
DISTGPU_PUBLIC uint32_t distgpu_layout_tasks_on(const struct distgpu_layout* layout, uint32_t node);

// The number of the node with this name, into `node`, which stays as it is otherwise.
// ERANGE: none has it. EINVAL: an argument is NULL.
DISTGPU_PUBLIC enum distgpu_status distgpu_layout_find_node(const struct distgpu_layout* layout,
                                                            const char* name, uint32_t* node,
                                                            struct distgpu_error* error);

// The topology: what a node consists of.
struct distgpu_topology;

// `json`: what `distgpu topo --format json` printed on the node. EINVAL: it is no such text.
DISTGPU_PUBLIC enum distgpu_status distgpu_topology_create(const char* json,
                                                           struct distgpu_topology** topology,
                                                           struct distgpu_error* error);
DISTGPU_PUBLIC void distgpu_topology_destroy(struct distgpu_topology* topology);

// GPUs of the node, numbered from 0 in the order of their PCI addresses. 0 of NULL.
DISTGPU_PUBLIC uint32_t distgpu_topology_gpu_count(const struct distgpu_topology* topology);

// What one node gives to the step. A field that is 0 or NULL says nothing, so a caller may fill in
// the size and what it knows.
struct distgpu_facts {
    size_t size;  // sizeof(struct distgpu_facts)

    // Host names or IP addresses; NULL: the node's name is used.
    const char* rank0_address;   // by which the tasks reach the node of rank 0
    const char* node_address;    // by which the others reach this one
    const char* node_interface;  // the network interface that has it: "ib0"

    // Of the user's environment. `exported`: names of variables; those that distgpu leaves to the
    // user (OMP_NUM_THREADS, NCCL_IB_HCA, ...) are not set where they are in it.
    const char* master_addr;
    const char* master_port;
    const char* const* exported;
    const char* reserved_ports;  // "20830-20832,20840": the launcher reserved them for the step

    // For binding: without topology or masks CPUs and GPUs stay as they are.
    const struct distgpu_topology* topology;
    const char* const* cpu_masks;      // where each task may run: "0-3,8", by local id
    const uint32_t* gpu_indices;       // `gpus` numbers of the topology's GPUs; the step's own
    const char* const* gpu_names;      // what the tasks call them; NULL: by their numbers
    const char* const* gpu_variables;  // what holds these names: "CUDA_VISIBLE_DEVICES"

    // They make the port, which is different for steps that run side by side.
    uint32_t job_id;
    uint32_t step_id;
    uint32_t restart_count;

    uint32_t gpus;  // GPUs that a task of the step sees; 65536 at the most, as the next two
    uint32_t cpus;  // CPUs of the step on this node; 0: one
    uint32_t cpus_per_task;  // CPUs that were asked for each task; 0: not known

    uint32_t confined;    // 1: the masks hold the step's CPUs and no others, so they may be divided
    uint32_t user_bound;  // 1: the user chose the masks, so they stay
};

struct distgpu_variable {
    const char* name;
    const char* value;
};

// One task. Later versions may add fields at the end.
struct distgpu_task {
    uint32_t rank;       // in the framework's world, 0 .. world_size - 1
    uint32_t local_id;   // among the node's tasks
    uint32_t node_rank;  // of its node, in the framework's world

    // For the task's environment: first these names are unset (one that ends with '*' stands for
    // all that begin so), then the variables are set.
    const char* const* unset;
    size_t variable_count;
    const struct distgpu_variable* variables;

    const char* cpus;      // where it shall run: "0-3,8"; NULL: as it is
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
    const struct distgpu_task* const* tasks;  // by local id
    const char* const* warnings;              // what may not be meant, one line each
};

// `node`: its number in the layout. `facts`: NULL says nothing. `request`, `layout` and the facts'
// topology may be destroyed afterwards.
// ERANGE: no such node. EREFUSED: see there. EINVAL: request, layout or plan is NULL; a fact is not
// what it is described as; there are masks for more or fewer tasks than the node has.
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
