// For the wheel only (cmake/Wheel.cmake). GCC 12 gave std::condition_variable::wait() a new symbol
// version, GLIBCXX_3.4.30; nothing else that tandem uses needs a libstdc++ newer than GCC 11's. The
// linker sends the calls here (--wrap), and they continue to the old version, which every later
// libstdc++ has, too.
#include <condition_variable>
#include <mutex>

using Condition = std::condition_variable;
using Lock = std::unique_lock<std::mutex>;

extern "C" {
void tandem_old_wait(Condition* condition, Lock* lock);
__asm__(
    ".symver tandem_old_wait,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is the linker's
void __wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(Condition* condition,
                                                                      Lock* lock) {
  tandem_old_wait(condition, lock);
}
}
