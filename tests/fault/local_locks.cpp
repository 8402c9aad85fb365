// A library for LD_PRELOAD that grants every lock of an open file description, as a file system
// does whose locks another host does not see.
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
