#include "backend/cuda_driver.h"

namespace distgpu::scaling::cuda {
namespace {

// The driver's own, never the toolkit's stub libcuda.so, which answers nothing.
constexpr const char* file = "libcuda.so.1";

}  // namespace

Result<Driver> load_driver() {
    auto library = SharedLibrary::load(
        file, "run on a node with NVIDIA's driver, or measure host memory with --backend mpi");
    if (!library) return library.error();
    Driver driver{};
    library->resolve(driver.init, "cuInit");
    library->resolve(driver.driver_version, "cuDriverGetVersion");
    library->resolve(driver.error_string, "cuGetErrorString");
    library->resolve(driver.device_count, "cuDeviceGetCount");
    library->resolve(driver.device_get, "cuDeviceGet");
    library->resolve(driver.device_name, "cuDeviceGetName");
    library->resolve(driver.device_uuid, "cuDeviceGetUuid");
    library->resolve(driver.device_attribute, "cuDeviceGetAttribute");
    library->resolve(driver.retain_primary_context, "cuDevicePrimaryCtxRetain");
    library->resolve(driver.set_current_context, "cuCtxSetCurrent");
    library->resolve(driver.create_stream, "cuStreamCreate");
    library->resolve(driver.query_stream, "cuStreamQuery");
    library->resolve(driver.synchronize_stream, "cuStreamSynchronize");
    library->resolve(driver.allocate, "cuMemAlloc_v2");
    library->resolve(driver.copy_to_device, "cuMemcpyHtoDAsync_v2");
    library->resolve(driver.copy_within, "cuMemcpyDtoDAsync_v2");
    library->resolve(driver.copy_to_pinned, "cuMemcpyDtoHAsync_v2");
    library->resolve(driver.allocate_pinned, "cuMemAllocHost_v2");
    library->resolve(driver.free_pinned, "cuMemFreeHost");
    library->resolve(driver.copy_to_host, "cuMemcpyDtoH_v2");
    library->resolve(driver.create_event, "cuEventCreate");
    library->resolve(driver.record_event, "cuEventRecord");
    library->resolve(driver.record_event_with, "cuEventRecordWithFlags");
    library->resolve(driver.query_event, "cuEventQuery");
    library->resolve(driver.elapsed, "cuEventElapsedTime");
    library->resolve(driver.destroy_event, "cuEventDestroy_v2");
    library->resolve(driver.begin_capture, "cuStreamBeginCapture_v2");
    library->resolve(driver.end_capture, "cuStreamEndCapture");
    library->resolve(driver.instantiate_graph, "cuGraphInstantiateWithFlags");
    library->resolve(driver.launch_graph, "cuGraphLaunch");
    library->resolve(driver.destroy_executable_graph, "cuGraphExecDestroy");
    library->resolve(driver.destroy_graph, "cuGraphDestroy");
    library->resolve(driver.load_module, "cuModuleLoadData");
    library->resolve(driver.get_function, "cuModuleGetFunction");
    library->resolve(driver.launch, "cuLaunchKernel");
    if (library->missing().empty()) return driver;
    return Error{file, "has no " + library->missing(), "install a newer driver"};
}

}  // namespace distgpu::scaling::cuda
