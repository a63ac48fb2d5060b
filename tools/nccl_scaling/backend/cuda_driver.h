// What is used of CUDA's driver API. Declared here, since the program is built without CUDA's
// headers and runs without its library. Values and signatures: CUDA Driver API manual; the _v2
// functions are what cuda.h calls by the plain name since CUDA 4.
#pragma once

#include "base/io/shared_library.h"
#include "base/result.h"

#include <array>
#include <cstddef>

namespace distgpu::scaling::cuda {

using Status = int;  // CUresult
using Device = int;  // CUdevice
using Context = void*;
using Stream = void*;
using Event = void*;
using Module = void*;
using Function = void*;
using Graph = void*;
using ExecutableGraph = void*;
using Address = unsigned long long;  // CUdeviceptr

inline constexpr Status success = 0;
inline constexpr Status not_initialized = 3;
inline constexpr Status stub_library = 34;
inline constexpr Status device_unavailable = 46;
inline constexpr Status no_device = 100;
inline constexpr Status invalid_device = 101;
inline constexpr Status not_ready = 600;
inline constexpr Status system_not_ready = 802;
inline constexpr Status system_driver_mismatch = 803;
inline constexpr Status compat_not_supported = 804;
inline constexpr Status unknown = 999;
inline constexpr unsigned non_blocking = 1;    // CU_STREAM_NON_BLOCKING
inline constexpr int capture_of_thread = 1;    // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
inline constexpr unsigned external_event = 1;  // CU_EVENT_RECORD_EXTERNAL
inline constexpr int clock_rate = 13;          // CU_DEVICE_ATTRIBUTE_CLOCK_RATE, in kHz

struct Uuid {
    std::array<unsigned char, 16> bytes;
};

struct Driver {
    Status (*init)(unsigned flags);
    Status (*driver_version)(int* version);  // 12040: 12.4
    Status (*error_string)(Status status, const char** text);
    Status (*device_count)(int* count);
    Status (*device_get)(Device* device, int ordinal);
    Status (*device_name)(char* name, int length, Device device);
    Status (*device_uuid)(Uuid* uuid, Device device);
    Status (*device_attribute)(int* value, int attribute, Device device);
    Status (*retain_primary_context)(Context* context, Device device);
    Status (*set_current_context)(Context context);
    Status (*create_stream)(Stream* stream, unsigned flags);
    Status (*query_stream)(Stream stream);
    Status (*synchronize_stream)(Stream stream);
    Status (*allocate)(Address* address, std::size_t bytes);
    Status (*copy_to_device)(Address to, const void* from, std::size_t bytes, Stream stream);
    Status (*copy_within)(Address to, Address from, std::size_t bytes, Stream stream);
    Status (*copy_to_pinned)(void* to, Address from, std::size_t bytes, Stream stream);
    Status (*allocate_pinned)(void** memory, std::size_t bytes);
    Status (*free_pinned)(void* memory);
    Status (*copy_to_host)(void* to, Address from, std::size_t bytes);
    Status (*create_event)(Event* event, unsigned flags);
    Status (*record_event)(Event event, Stream stream);
    Status (*record_event_with)(Event event, Stream stream, unsigned flags);
    Status (*query_event)(Event event);
    Status (*elapsed)(float* milliseconds, Event begin, Event end);
    Status (*destroy_event)(Event event);
    Status (*begin_capture)(Stream stream, int mode);
    Status (*end_capture)(Stream stream, Graph* graph);
    Status (*instantiate_graph)(ExecutableGraph* executable, Graph graph, unsigned long long flags);
    Status (*launch_graph)(ExecutableGraph executable, Stream stream);
    Status (*destroy_executable_graph)(ExecutableGraph executable);
    Status (*destroy_graph)(Graph graph);
    Status (*load_module)(Module* module, const void* image);
    Status (*get_function)(Function* function, Module module, const char* name);
    Status (*launch)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                     Stream stream, void** parameters, void** extra);
};

// Errors (object: libcuda.so.1): not found; too old, naming what it lacks.
Result<Driver> load_driver();

}  // namespace distgpu::scaling::cuda
