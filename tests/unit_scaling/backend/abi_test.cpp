// Compiles only if backend's declarations of NCCL and CUDA match their headers.
#include "backend/gpu.h"
#include "same_signature.h"

#include <cuda.h>
#include <nccl.h>

namespace distgpu::scaling {
namespace {

using nccl::Library;
static_assert(same_signature<decltype(Library::get_version), decltype(ncclGetVersion)>);
static_assert(same_signature<decltype(Library::error_string), decltype(ncclGetErrorString)>);
static_assert(same_signature<decltype(Library::last_error), decltype(ncclGetLastError)>);
static_assert(same_signature<decltype(Library::get_unique_id), decltype(ncclGetUniqueId)>);
static_assert(same_signature<decltype(Library::init_rank), decltype(ncclCommInitRank)>);
static_assert(same_signature<decltype(Library::split), decltype(ncclCommSplit)>);
static_assert(same_signature<decltype(Library::destroy), decltype(ncclCommDestroy)>);
static_assert(same_signature<decltype(Library::async_error), decltype(ncclCommGetAsyncError)>);
static_assert(same_signature<decltype(Library::all_reduce), decltype(ncclAllReduce)>);
static_assert(same_signature<decltype(Library::broadcast), decltype(ncclBroadcast)>);
static_assert(same_signature<decltype(Library::all_gather), decltype(ncclAllGather)>);
static_assert(same_signature<decltype(Library::reduce_scatter), decltype(ncclReduceScatter)>);
static_assert(same_signature<decltype(Library::send), decltype(ncclSend)>);
static_assert(same_signature<decltype(Library::receive), decltype(ncclRecv)>);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
static_assert(same_signature<decltype(Library::all_to_all), decltype(ncclAlltoAll)>);
#endif
static_assert(same_signature<decltype(Library::group_start), decltype(ncclGroupStart)>);
static_assert(same_signature<decltype(Library::group_end), decltype(ncclGroupEnd)>);

static_assert(nccl::remote_error == ncclRemoteError);
static_assert(nccl::invalid_usage == ncclInvalidUsage && nccl::in_progress == ncclInProgress);
static_assert(nccl::success == ncclSuccess);
static_assert(nccl::no_colour == NCCL_SPLIT_NOCOLOR);
static_assert(nccl::sum == ncclSum);
static_assert(nccl::type_of(DataType::f32) == ncclFloat32);
static_assert(nccl::type_of(DataType::f16) == ncclFloat16);
static_assert(nccl::type_of(DataType::bf16) == ncclBfloat16);

using cuda::Driver;
static_assert(same_signature<decltype(Driver::init), decltype(cuInit)>);
static_assert(same_signature<decltype(Driver::driver_version), decltype(cuDriverGetVersion)>);
static_assert(same_signature<decltype(Driver::error_string), decltype(cuGetErrorString)>);
static_assert(same_signature<decltype(Driver::device_count), decltype(cuDeviceGetCount)>);
static_assert(same_signature<decltype(Driver::device_get), decltype(cuDeviceGet)>);
static_assert(same_signature<decltype(Driver::device_name), decltype(cuDeviceGetName)>);
static_assert(same_signature<decltype(Driver::device_uuid), decltype(cuDeviceGetUuid)>);
static_assert(same_signature<decltype(Driver::device_attribute), decltype(cuDeviceGetAttribute)>);
static_assert(
    same_signature<decltype(Driver::retain_primary_context), decltype(cuDevicePrimaryCtxRetain)>);
static_assert(same_signature<decltype(Driver::set_current_context), decltype(cuCtxSetCurrent)>);
static_assert(same_signature<decltype(Driver::query_stream), decltype(cuStreamQuery)>);
static_assert(same_signature<decltype(Driver::create_stream), decltype(cuStreamCreate)>);
static_assert(same_signature<decltype(Driver::synchronize_stream), decltype(cuStreamSynchronize)>);
static_assert(same_signature<decltype(Driver::allocate), decltype(cuMemAlloc)>);
static_assert(same_signature<decltype(Driver::copy_to_device), decltype(cuMemcpyHtoDAsync)>);
static_assert(same_signature<decltype(Driver::copy_within), decltype(cuMemcpyDtoDAsync)>);
static_assert(same_signature<decltype(Driver::copy_to_host), decltype(cuMemcpyDtoH)>);
static_assert(same_signature<decltype(Driver::create_event), decltype(cuEventCreate)>);
static_assert(same_signature<decltype(Driver::record_event), decltype(cuEventRecord)>);
static_assert(same_signature<decltype(Driver::query_event), decltype(cuEventQuery)>);
static_assert(same_signature<decltype(Driver::elapsed), decltype(cuEventElapsedTime)>);
static_assert(cuda::success == CUDA_SUCCESS && cuda::not_ready == CUDA_ERROR_NOT_READY);
static_assert(cuda::not_initialized == CUDA_ERROR_NOT_INITIALIZED);
static_assert(cuda::stub_library == CUDA_ERROR_STUB_LIBRARY);
static_assert(cuda::device_unavailable == CUDA_ERROR_DEVICE_UNAVAILABLE);
static_assert(cuda::no_device == CUDA_ERROR_NO_DEVICE);
static_assert(cuda::invalid_device == CUDA_ERROR_INVALID_DEVICE);
static_assert(cuda::system_not_ready == CUDA_ERROR_SYSTEM_NOT_READY);
static_assert(cuda::system_driver_mismatch == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
static_assert(cuda::compat_not_supported == CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
static_assert(cuda::unknown == CUDA_ERROR_UNKNOWN);
static_assert(cuda::non_blocking == CU_STREAM_NON_BLOCKING && CU_EVENT_DEFAULT == 0);
static_assert(cuda::clock_rate == CU_DEVICE_ATTRIBUTE_CLOCK_RATE);

}  // namespace
}  // namespace distgpu::scaling
