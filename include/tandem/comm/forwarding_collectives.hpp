// The base of Collectives that change some calls and pass the others on to `inner`, which must
// outlive them. has_async_progress() and is_test_thread_safe() are not passed on: a Request of the
// derived class may do more than that of `inner`.
#pragma once

#include <memory>

#include "tandem/comm/collectives.hpp"

namespace tandem::comm {

class ForwardingCollectives : public Collectives {
 public:
  explicit ForwardingCollectives(Collectives& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  void check() override { inner_.check(); }
  void reset_error_feedback() override { inner_.reset_error_feedback(); }

 protected:
  Collectives& inner() const { return inner_; }
  void do_all_reduce(Buffer values) override { inner_.all_reduce(values); }
  std::unique_ptr<Request> do_iall_reduce(Buffer values) override {
    return inner_.iall_reduce(values);
  }

 private:
  Collectives& inner_;
};

}  // namespace tandem::comm
