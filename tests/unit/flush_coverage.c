// What a forked child executes counts too: without this gcov forgets it, as a child ends by
// _exit(). Linked with --wrap=_exit, where coverage is measured.
void __gcov_dump(void);
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

void __wrap__exit(int status) {
    __gcov_dump();
    __real__exit(status);
}
