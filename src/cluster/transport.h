#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/token.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// The longest request of any service, and so the most that a listener reads from anybody.
inline constexpr uint64_t kMostRequestBytes = uint64_t{64} << 10;

/// The bytes of a response in pieces, which are sent one after another without being copied together.
using Response = std::vector<Buffer>;
uint64_t response_bytes(const Response& response);

/// Answers the calls of the other hosts to one service of this host.
///
/// Called from any of the transport's threads, several at a time, until the Listening has ended. A call
/// may wait for a disk and not for another host. The bytes of a response must not change while its
/// buffers live.
class Service {
 public:
  virtual ~Service() = default;
  /// The request is a stranger's word. Any error means that it is none of this service: the caller gets
  /// InvalidArgument and learns nothing else.
  virtual Result<Response> answer(std::span<const uint8_t> request) = 0;
};

/// The services of a listener by name: letters, digits and "_".
using Services = std::map<std::string, std::shared_ptr<Service>, std::less<>>;

/// An open port that serves the other hosts. Once this object has been destroyed its services are not
/// called any more.
class Listening {
 public:
  struct Stats {
    uint64_t calls = 0;    ///< that were answered by a service
    uint64_t bytes = 0;    ///< of their responses
    uint64_t refused = 0;  ///< strangers, old generations, malformed requests, connections beyond the limit
  };
  virtual ~Listening() = default;
  /// "host:port" as others reach it, with the port that the system chose where 0 was asked for.
  virtual const std::string& address() const = 0;
  virtual Stats stats() const = 0;
};

/// A host as others reach it.
struct PeerHost {
  std::string address;  ///< "host:port"
  JobPass pass;         ///< what the host wants to be shown
};

/// The time that a caller waits, and the bytes that it takes.
struct CallLimits {
  uint64_t most_bytes = 0;            ///< of the response; a longer one is refused before its memory is taken
  std::chrono::milliseconds in_all;   ///< until the response is complete
  std::chrono::milliseconds silence;  ///< without a byte: an absent host is noticed sooner than a slow one

  CallLimits(uint64_t most, std::chrono::milliseconds both) : CallLimits(most, both, both) {}
  CallLimits(uint64_t most, std::chrono::milliseconds until_all, std::chrono::milliseconds without_a_byte)
      : most_bytes(most), in_all(until_all), silence(without_a_byte) {}
};

/// Carries calls between the hosts of one job, and knows nothing of what they say. Methods may be called
/// from any thread. The destructor returns when every call has been answered.
///
/// transport_conformance_test.cc holds the promises that every implementation keeps.
class Transport {
 public:
  using Done = std::function<void(Result<Buffer>)>;
  virtual ~Transport() = default;

  /// Serves these services at "host:port" to hosts that show `pass`. InvalidArgument for an address that
  /// is not this host's; Unavailable where the port is taken.
  virtual Result<std::unique_ptr<Listening>> listen(const std::string& address, const JobPass& pass,
                                                    Services services) = 0;

  /// Calls a service of another host with at most kMostRequestBytes. `done` is called exactly once, from
  /// any thread, and must not block. It gets the response, whose memory begins at a multiple of 64; or
  /// Unavailable where the host is not there or goes beyond the times of `limits`; InvalidArgument where
  /// one of the two refuses the other; Corrupt for a response of more than `most_bytes`; Cancelled after
  /// a stop.
  virtual void call(const PeerHost& host, std::string_view service, Buffer request, const CallLimits& limits,
                    std::stop_token stop, Done done) = 0;
};

/// Makes a call and waits for its answer: no longer than `limits` says, and not after a stop. Not for
/// the threads of a transport.
Result<Buffer> call_and_wait(Transport& transport, const PeerHost& host, std::string_view service, Buffer request,
                             const CallLimits& limits, const std::stop_token& stop);

}  // namespace forebay
