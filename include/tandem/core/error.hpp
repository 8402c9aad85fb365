// The exception types of tandem. Each carries the exit code of the process.
//
// A message reads "subject: found, expected; what to do". Strings from outside are escaped when a
// message is printed (core/text.hpp), not when it is composed.
#pragma once

#include <cerrno>
#include <exception>
#include <stdexcept>
#include <string>

namespace tandem {

enum class ExitCode : int {
  kDone = 0,
  kInternal = 1,
  kUsage = 2,
  kBadData = 65,
  kMissingInput = 66,
  kUnavailable = 69,
  kTrainingFailed = 70,
  kCannotCreate = 73,
  kIo = 74,
  kStopped = 75,
  kDisagreement = 78,
  kStalled = 124,
};
constexpr int kSignalBase = 128;  // exit code 128 + n: ended by signal n

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

template <ExitCode kCode>
class ErrorWithCode : public Error {
 public:
  explicit ErrorWithCode(const std::string& message) : Error(kCode, message) {}
};

using UsageError = ErrorWithCode<ExitCode::kUsage>;   // a wrong option or combination of options
using DataError = ErrorWithCode<ExitCode::kBadData>;  // a damaged or unrecognized input file
using MissingInputError = ErrorWithCode<ExitCode::kMissingInput>;  // an input that is not there
using UnavailableError = ErrorWithCode<ExitCode::kUnavailable>;    // a device, backend or library
using TrainingError = ErrorWithCode<ExitCode::kTrainingFailed>;    // non-finite loss
using CannotCreateError = ErrorWithCode<ExitCode::kCannotCreate>;  // an output that cannot be made
using IoError = ErrorWithCode<ExitCode::kIo>;                      // a read or write that failed
using DisagreementError = ErrorWithCode<ExitCode::kDisagreement>;  // ranks that differ
using InternalError = ErrorWithCode<ExitCode::kInternal>;          // a broken promise of our own

// The system's text of an error number.
std::string errno_text(int error = errno);

// The exit code of any exception; a thread that the system refuses is kUnavailable.
ExitCode code_of(const std::exception& error);
// The message of any exception, without the backtrace that libtorch appends to its own.
std::string message_of(const std::exception& error);

}  // namespace tandem
