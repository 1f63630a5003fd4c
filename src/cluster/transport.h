#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "cluster/key_source.h"
#include "cluster/message.h"
#include "cluster/token.h"
#include "forebay/result.h"

namespace forebay {

/// A host that serves. It ends with this object: when that is gone, its KeySource is not called any more.
class Listening {
 public:
  struct Stats {
    uint64_t questions = 0, keys = 0, found = 0;
    uint64_t bytes = 0;    ///< of bodies that were sent
    uint64_t refused = 0;  ///< strangers, old generations, malformed questions, connections beyond the limit
  };
  virtual ~Listening() = default;
  /// Where others reach it: "host:port", with the port that was found where 0 was asked for.
  virtual const std::string& address() const = 0;
  virtual Stats stats() const = 0;
};

/// A host as others reach it.
struct PeerHost {
  std::string address;  ///< "host:port"
  JobPass pass;         ///< what it wants to be shown
};

/// How long an answer is waited for.
struct AnswerLimits {
  template <typename Rep, typename Period>
  AnswerLimits(std::chrono::duration<Rep, Period> both)  // NOLINT(google-explicit-constructor)
      : AnswerLimits(both, both) {}
  AnswerLimits(std::chrono::milliseconds until_all, std::chrono::milliseconds without_a_byte)
      : in_all(until_all), silence(without_a_byte) {}

  std::chrono::milliseconds in_all;
  std::chrono::milliseconds
      silence;  ///< without a byte of it; so that a host that is away is known sooner than a slow one
};

/// Moves bytes between the hosts of one job; knows nothing of what they are. Every method may be called from any thread.
///
/// transport_conformance.h is the suite that every one passes.
class Transport {
 public:
  using Done = std::function<void(Result<std::vector<AnsweredKey>>)>;
  virtual ~Transport() = default;

  /// Serves these keys at "host:port", to whoever shows `pass`. InvalidArgument for what is no address of this host; Unavailable where it is taken.
  virtual Result<std::unique_ptr<Listening>> listen(const std::string& address, const JobPass& pass,
                                                    std::shared_ptr<KeySource> keys) = 0;

  /// Asks one host for up to kMostKeys keys. Answers exactly once: with an element for each key, in order; or Unavailable where the host is not
  /// there or goes beyond `limits`; InvalidArgument where it and this host refuse each other; Corrupt where it answers nonsense; Cancelled after a stop. The answer must not block.
  virtual void fetch(const PeerHost& host, std::vector<WantedKey> wanted, AnswerLimits limits, std::stop_token stop,
                     Done done) = 0;
};

}  // namespace forebay
