// A library for LD_PRELOAD that stops its process (SIGSTOP) at one call of MPI on the main thread,
// or before the first one, or after the last one.
//
//   HANG_POINTS_RANK=R
//     the rank to stop; nothing happens in other ranks, or in shells that start the program
//   HANG_POINTS_LOG=FILE
//     gets a line "CALL" for each place that is reached, and finally "stopped PROCESS"
//   HANG_POINTS=N
//     the N-th place, counted from 1; 0: none
#include <mpi.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

// Plain values, because places are reached before constructors and after destructors.
long number = 0;  // of the place
long reached = 0;
bool is_meant = false;
std::FILE* log_file = nullptr;

void reach(const char* place) {
  const bool is_main_thread = ::syscall(SYS_gettid) == ::getpid();
  if (!is_meant || !is_main_thread) return;
  ++reached;
  if (log_file != nullptr) {
    std::fprintf(log_file, "%s\n", place);
    if (reached == number) std::fprintf(log_file, "stopped %d\n", ::getpid());
    std::fflush(log_file);
  }
  while (reached == number) {  // stops again if the launcher continues it in order to end it
    ::kill(::getpid(), SIGSTOP);
    ::pause();
  }
}

__attribute__((constructor)) void begin() {
  const char* meant = std::getenv("HANG_POINTS_RANK");
  const char* rank = nullptr;  // by the variable of whichever launcher
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (rank == nullptr) rank = std::getenv(name);
  }
  const bool is_program = std::strncmp(program_invocation_short_name, "tandem", 6) == 0;
  is_meant =
      is_program && meant != nullptr && rank != nullptr && std::atol(meant) == std::atol(rank);
  if (!is_meant) return;
  if (const char* text = std::getenv("HANG_POINTS")) number = std::atol(text);
  if (const char* path = std::getenv("HANG_POINTS_LOG")) log_file = std::fopen(path, "ae");
  reach("start");
}

__attribute__((destructor)) void end() { reach("exit"); }

}  // namespace

extern "C" {

#define HANG_POINT(name, parameters, arguments) \
  int name parameters {                         \
    reach(#name);                               \
    return P##name arguments;                   \
  }

HANG_POINT(MPI_Init_thread, (int* count, char*** words, int required, int* provided),
           (count, words, required, provided))
HANG_POINT(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made))
HANG_POINT(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made),
           (comm, color, key, made))
HANG_POINT(MPI_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made),
           (comm, type, key, info, made))
HANG_POINT(MPI_Comm_free, (MPI_Comm * comm), (comm))
HANG_POINT(MPI_Barrier, (MPI_Comm comm), (comm))
HANG_POINT(MPI_Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm),
           (data, count, type, root, comm))
HANG_POINT(MPI_Allreduce,
           (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (from, to, count, type, op, comm))
HANG_POINT(MPI_Reduce,
           (const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, int root,
            MPI_Comm comm),
           (from, to, count, type, op, root, comm))
HANG_POINT(MPI_Gatherv,
           (const void* from, int count, MPI_Datatype type, void* to, const int* counts,
            const int* offsets, MPI_Datatype to_type, int root, MPI_Comm comm),
           (from, count, type, to, counts, offsets, to_type, root, comm))
HANG_POINT(MPI_Iallgather,
           (const void* from, int count, MPI_Datatype type, void* to, int to_count,
            MPI_Datatype to_type, MPI_Comm comm, MPI_Request* request),
           (from, count, type, to, to_count, to_type, comm, request))
HANG_POINT(MPI_Sendrecv,
           (const void* from, int count, MPI_Datatype type, int target, int tag, void* to,
            int to_count, MPI_Datatype to_type, int source, int to_tag, MPI_Comm comm,
            MPI_Status* status),
           (from, count, type, target, tag, to, to_count, to_type, source, to_tag, comm, status))
HANG_POINT(MPI_Waitall, (int count, MPI_Request* requests, MPI_Status* statuses),
           (count, requests, statuses))

int MPI_Finalize() {
  reach("MPI_Finalize");
  const int code = PMPI_Finalize();
  reach("after MPI_Finalize");
  return code;
}

}  // extern "C"
