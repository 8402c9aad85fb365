/* What: writes the counted branches where a process ends without its exit handlers, as the watchdog, an abort and a forked child
 * do. Linked with --wrap, which sends calls of these functions here. */
#include <stdlib.h>
#include <unistd.h>

void __gcov_dump(void);
_Noreturn void __real__exit(int code);
_Noreturn void __real__Exit(int code);
/* Not in a program without MPI. */
__attribute__((weak)) int __real_MPI_Abort(void* communicator, int code);
int __wrap_MPI_Abort(void* communicator, int code);
_Noreturn void __wrap__exit(int code);
_Noreturn void __wrap__Exit(int code);

void __wrap__exit(int code) {
  __gcov_dump();
  __real__exit(code);
}

void __wrap__Exit(int code) {
  __gcov_dump();
  __real__Exit(code);
}

int __wrap_MPI_Abort(void* communicator, int code) {
  __gcov_dump();
  return __real_MPI_Abort(communicator, code);
}
