# Sets DISTGPU_COMMIT, the commit that is built: of an archive from the file that `git archive` fills
# in, of a checkout from git; "unknown" if neither is known. A folder above the sources may be another
# project's checkout, so that git is asked only here.
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/commit.txt DISTGPU_COMMIT LIMIT_COUNT 1)
if(NOT DISTGPU_COMMIT MATCHES "^[0-9a-f]+$" AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(
    COMMAND git -C ${PROJECT_SOURCE_DIR} rev-parse HEAD
    OUTPUT_VARIABLE DISTGPU_COMMIT
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT DISTGPU_COMMIT MATCHES "^[0-9a-f]+$")
  set(DISTGPU_COMMIT unknown)
endif()
