// Prints what each task of a node gets, as a launcher would apply it:
//
//     plan SPEC NODELIST TASKS_PER_NODE NODE      plan pytorch 'n[1-2]' 4 n2
//
//     cc plan.c $(pkg-config --cflags --libs distgpu) -o plan
//
// Exit status: 0 printed, 1 refused, 2 wrong usage.
#include <distgpu/mapping.h>

#include <stdio.h>

static void print_task(const char* node, const struct distgpu_task* task) {
    printf("rank %u on %s\n", task->rank, node);
    for (const char* const* name = task->unset; *name != NULL; name++)
        printf("  unset %s\n", *name);
    for (size_t i = 0; i < task->variable_count; i++) {
        printf("  %s=%s\n", task->variables[i].name, task->variables[i].value);
    }
}

static void print_plan(const struct distgpu_node_plan* plan) {
    for (const char* const* line = plan->warnings; *line != NULL; line++) {
        fprintf(stderr, "%s\n", *line);
    }
    for (uint32_t i = 0; i < plan->task_count; i++) print_task(plan->node_name, plan->tasks[i]);
}

int main(int argc, char** argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: plan SPEC NODELIST TASKS_PER_NODE NODE\n");
        return 2;
    }
    const struct distgpu_layout_text text = {
        .size = sizeof text, .nodelist = argv[2], .tasks_per_node = argv[3]};
    // What the launcher knows about the node: here, that each task has one CPU.
    const struct distgpu_facts facts = {.size = sizeof facts, .cpus_per_task = 1};
    struct distgpu_request* request = NULL;
    struct distgpu_layout* layout = NULL;
    const struct distgpu_node_plan* plan = NULL;
    struct distgpu_error error;
    uint32_t node = 0;

    const int planned =
        distgpu_request_create(argv[1], &request, &error) == DISTGPU_OK &&
        distgpu_layout_create(&text, &layout, &error) == DISTGPU_OK &&
        distgpu_layout_find_node(layout, argv[4], &node, &error) == DISTGPU_OK &&
        distgpu_node_plan_create(request, layout, &facts, node, &plan, &error) == DISTGPU_OK;
    if (planned) {
        print_plan(plan);
    } else {
        fprintf(stderr, "%s\n", error.text);
    }
    distgpu_node_plan_destroy(plan);
    distgpu_layout_destroy(layout);
    distgpu_request_destroy(request);
    return planned ? 0 : 1;
}
