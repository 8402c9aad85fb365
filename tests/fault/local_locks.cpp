// A library for LD_PRELOAD that grants every open-file-description lock, like a file system whose
// locks other hosts do not see.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>

namespace {

int answer(int descriptor, int command, void* argument) {
  if (command == F_OFD_SETLK) return 0;
  return static_cast<int>(::syscall(SYS_fcntl, descriptor, command, argument));
}

}  // namespace

extern "C" int fcntl(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return answer(descriptor, command, argument);
}

extern "C" int fcntl64(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return answer(descriptor, command, argument);
}
