// A communicator of one rank that needs no MPI. Tests that watch collectives derive from it.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>

#include "tandem/comm/communicator.hpp"

namespace tandem::testing {

class LoneCommunicator : public comm::Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string name() const override { return "lone"; }
  void barrier() override {}

 protected:
  struct Done final : comm::Request {
    bool test() override { return true; }
  };
  void do_all_reduce_by(comm::Reduction, comm::Buffer) override {}
  std::unique_ptr<comm::Request> do_iall_reduce(comm::Buffer) override {
    return std::make_unique<Done>();
  }
  void do_reduce(comm::Buffer, comm::Reduction) override {}
  void do_broadcast(comm::Buffer, int) override {}
  std::unique_ptr<comm::Request> do_ireduce(comm::Buffer) override {
    return std::make_unique<Done>();
  }
  std::unique_ptr<comm::Request> do_ibroadcast(comm::Buffer) override {
    return std::make_unique<Done>();
  }
  std::unique_ptr<comm::Request> do_iall_to_all(const void* mine, comm::Buffer theirs) override {
    std::memcpy(theirs.data, mine, theirs.bytes());
    return std::make_unique<Done>();
  }
  std::unique_ptr<comm::Request> do_iall_gather(comm::Buffer) override {
    return std::make_unique<Done>();
  }
  void do_sendrecv(int, const void*, comm::Buffer) override {}
  void do_gather(const void* mine, void* all, const std::vector<std::int64_t>& bytes_of) override {
    std::copy_n(static_cast<const char*>(mine), bytes_of.front(), static_cast<char*>(all));
  }
};

}  // namespace tandem::testing
