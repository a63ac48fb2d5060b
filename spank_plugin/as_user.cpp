#include "as_user.h"

#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>

namespace distgpu {
namespace {

// glibc's functions of these names change all threads of a process.
bool set_effective(uid_t user, gid_t group) {
    constexpr auto same = static_cast<uid_t>(-1);
    // The group first on the way down and last on the way up: only root may change it.
    const auto set_group = [&] { return syscall(SYS_setresgid, same, group, same) == 0; };
    const auto set_user = [&] { return syscall(SYS_setresuid, same, user, same) == 0; };
    return user == 0 ? set_user() && set_group() : set_group() && set_user();
}

}  // namespace

AsUser::AsUser(spank_t spank) {
    uid_t user = 0;
    gid_t group = 0;
    if (geteuid() != 0 || spank_get_item(spank, S_JOB_UID, &user) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &group) != ESPANK_SUCCESS) {
        return;
    }
    done_ = set_effective(user, group);
    if (!done_) set_effective(0, getgid());  // the group, if only that was taken
}

AsUser::~AsUser() {
    // Cannot fail, and a daemon that went on as the user would.
    if (done_ && !set_effective(0, getgid())) std::abort();
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
