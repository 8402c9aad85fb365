// Linked into MPI tests of sanitizer builds. Open MPI unloads its components when it ends, before
// leaks are looked for, and a leak in a library that is gone cannot be told from one of ours: so
// none is unloaded.
extern "C" __attribute__((visibility("default"))) int dlclose(void* /*library*/) noexcept {
  return 0;
}
