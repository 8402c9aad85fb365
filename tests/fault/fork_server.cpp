// A library for LD_PRELOAD that keeps a loaded program waiting just before its main(), and forks a
// process for each start that it is asked for: loading libtorch takes longer than a small run.
// tests/support/fork_server.py asks, over a socket whose number is in FORK_SERVER.
//
// A request: "FOLDER\0COUNT\0ARGUMENT\0...VARIABLE=VALUE\0...", with a descriptor for both outputs.
// Answers: the number of the process, later its status as waitpid() gives it.
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Main = int (*)(int, char**, char**);
Main program_main = nullptr;

struct Request {
  std::string folder;
  std::vector<char*> arguments;  // ends with nullptr, like variables
  std::vector<char*> variables;
  int output = -1;
};

// Does not return if the socket is closed.
Request receive(int socket, std::vector<char>& buffer) {
  iovec part{buffer.data(), buffer.size() - 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t bytes = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (bytes <= 0 || header == nullptr || (message.msg_flags & MSG_TRUNC) != 0) {
    ::_exit(bytes == 0 ? 0 : 1);
  }
  Request request;
  std::memcpy(&request.output, CMSG_DATA(header), sizeof request.output);
  std::vector<char*> fields;
  for (char* at = buffer.data(); at < buffer.data() + bytes; at += std::strlen(at) + 1) {
    fields.push_back(at);
  }
  const auto first_variable = fields.begin() + 2 + std::atoi(fields.at(1));
  request.folder = fields.at(0);
  request.arguments.assign(fields.begin() + 2, first_variable);
  request.variables.assign(first_variable, fields.end());
  request.arguments.push_back(nullptr);
  request.variables.push_back(nullptr);
  return request;
}

int run_main(int socket, Request& request) {
  ::close(socket);
  ::dup2(request.output, STDOUT_FILENO);
  ::dup2(request.output, STDERR_FILENO);
  ::close(request.output);
  if (::chdir(request.folder.c_str()) != 0) ::_exit(127);
  ::clearenv();
  for (char* variable : request.variables) {
    if (variable != nullptr) ::putenv(variable);
  }
  // fault_points.cpp may have read its plan while the program was loaded.
  if (void* again = ::dlsym(RTLD_DEFAULT, "read_fault_plan_again")) {
    reinterpret_cast<void (*)()>(again)();
  }
  const int count = static_cast<int>(request.arguments.size()) - 1;
  return program_main(count, request.arguments.data(), environ);
}

void answer(int socket, int number) {
  const std::string text = std::to_string(number);
  if (::send(socket, text.data(), text.size(), MSG_NOSIGNAL) < 0) ::_exit(0);
}

// With libtorch. A program of one piece has no such file, and needs none.
void load_engine() {
  std::string path = std::getenv("TANDEM_TEST_PROGRAM");
  path = path.substr(0, path.rfind('/')) + "/../lib/tandem/libtandem_engine.so";
  if (::access(path.c_str(), F_OK) == 0 &&
      ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    ::_exit(1);
  }
}

int serve(int /*count*/, char** /*arguments*/, char** /*variables*/) {
  const int socket = std::atoi(std::getenv("FORK_SERVER"));
  load_engine();
  std::vector<char> buffer(std::size_t{1} << 18);
  for (;;) {
    Request request = receive(socket, buffer);
    const pid_t child = ::fork();
    if (child == 0) return run_main(socket, request);
    ::close(request.output);
    answer(socket, child);
    int status = 0;
    if (::waitpid(child, &status, 0) != child) ::_exit(1);
    answer(socket, status);
  }
}

}  // namespace

extern "C" int __libc_start_main(Main main, int count, char** arguments, Main init, void (*fini)(),
                                 void (*rtld_fini)(), void* stack_end) {
  program_main = main;
  const auto original =
      reinterpret_cast<decltype(&__libc_start_main)>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  return original(serve, count, arguments, init, fini, rtld_fini, stack_end);
}
