#include "backend/nccl_library.h"

#include "base/format.h"

namespace distgpu::scaling::nccl {
namespace {

constexpr const char* file = "libnccl.so.2";

void resolve_all(SharedLibrary& shared, Library& library) {
    shared.resolve(library.get_version, "ncclGetVersion");
    shared.resolve(library.error_string, "ncclGetErrorString");
    shared.resolve(library.last_error, "ncclGetLastError");
    shared.resolve(library.get_unique_id, "ncclGetUniqueId");
    shared.resolve(library.init_rank, "ncclCommInitRank");
    shared.resolve(library.split, "ncclCommSplit");
    shared.resolve(library.destroy, "ncclCommDestroy");
    shared.resolve(library.async_error, "ncclCommGetAsyncError");
    shared.resolve(library.all_reduce, "ncclAllReduce");
    shared.resolve(library.broadcast, "ncclBroadcast");
    shared.resolve(library.reduce, "ncclReduce");
    shared.resolve(library.all_gather, "ncclAllGather");
    shared.resolve(library.reduce_scatter, "ncclReduceScatter");
    shared.resolve_optional(library.all_to_all, "ncclAlltoAll");
    shared.resolve(library.send, "ncclSend");
    shared.resolve(library.receive, "ncclRecv");
    shared.resolve_optional(library.allocate, "ncclMemAlloc");
    shared.resolve_optional(library.register_buffer, "ncclCommRegister");
    shared.resolve_optional(library.deregister_buffer, "ncclCommDeregister");
    shared.resolve(library.group_start, "ncclGroupStart");
    shared.resolve(library.group_end, "ncclGroupEnd");
}

}  // namespace

std::string version_text(int version) {
    return formatted("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Result<Library> load_library() {
    auto shared = SharedLibrary::load(
        file, "install NCCL 2.18 or newer, or name its folder in LD_LIBRARY_PATH");
    if (!shared) return shared.error();
    Library library{};
    library.path = shared->path();
    resolve_all(*shared, library);
    if (library.get_version != nullptr && library.get_version(&library.version_code) == success) {
        library.version = version_text(library.version_code);
    }
    if (shared->missing().empty()) return library;
    return Error{formatted("{} ({})", library.path, library.version), "has no " + shared->missing(),
                 "install NCCL 2.18 or newer"};
}

}  // namespace distgpu::scaling::nccl
