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

/// Maximum size of a request to any service, and so the most that a listener reads from a caller.
inline constexpr uint64_t kMaxRequestBytes = uint64_t{64} << 10;

/// The bytes of a response in pieces, which are sent one after another without being copied
/// together.
using Response = std::vector<Buffer>;
/// Returns the total size of the pieces.
uint64_t response_bytes(const Response& response);

/// Answers the calls of other hosts to one service of this host.
///
/// Called from any of the transport's threads, several at a time, until the Listening is destroyed.
/// A call may wait for a disk but not for another host. The bytes of a response must not change
/// while its buffers live.
class Service {
 public:
  virtual ~Service() = default;
  /// Answers a request, whose bytes come unchecked from another host. Any error means that the
  /// request is invalid: the caller gets InvalidArgument and no other information.
  virtual Result<Response> answer(std::span<const uint8_t> request) = 0;
};

/// The services of a listener by name: letters, digits and "_".
using Services = std::map<std::string, std::shared_ptr<Service>, std::less<>>;

/// An open port that serves the other hosts. After its destruction none of its services is called.
class Listening {
 public:
  struct Stats {
    uint64_t calls = 0;    ///< answered by a service
    uint64_t bytes = 0;    ///< of their responses
    uint64_t refused = 0;  ///< wrong token or generation, malformed requests, too many connections
  };
  virtual ~Listening() = default;
  /// Returns "host:port" as other hosts reach it. If port 0 was requested, it has the port that the
  /// system chose.
  virtual const std::string& address() const = 0;
  virtual Stats stats() const = 0;
};

/// A host as others reach it.
struct PeerHost {
  std::string address;  ///< "host:port"
  JobPass pass;         ///< pass that callers must present
};

/// Limits of a call in time and bytes.
struct CallLimits {
  /// Limit of the response. A longer one is refused before memory is allocated for it.
  uint64_t most_bytes = 0;
  std::chrono::milliseconds in_all;  ///< until the response is complete
  /// Longest time without a byte: an absent host is noticed sooner than a slow one.
  std::chrono::milliseconds silence;

  CallLimits(uint64_t most, std::chrono::milliseconds both) : CallLimits(most, both, both) {}
  CallLimits(uint64_t most, std::chrono::milliseconds until_all, std::chrono::milliseconds without_a_byte)
      : most_bytes(most), in_all(until_all), silence(without_a_byte) {}
};

/// Carries calls between the hosts of one job, without knowledge of their contents. Methods may be
/// called from any thread. The destructor returns after every call has been answered.
///
/// transport_conformance_test.cc tests the promises that every implementation keeps.
class Transport {
 public:
  using Done = std::function<void(Result<Buffer>)>;
  virtual ~Transport() = default;

  /// Serves `services` at "host:port" to hosts that present `pass`. InvalidArgument if the address
  /// is not this host's; Unavailable if the port is taken.
  virtual Result<std::unique_ptr<Listening>> listen(const std::string& address, const JobPass& pass,
                                                    Services services) = 0;

  /// Calls a service of another host with a request of at most kMaxRequestBytes. `done` is called
  /// exactly once, from any thread, and must not block. It gets the response, whose memory is
  /// aligned to 64 bytes, or an error: Unavailable if the host does not answer or exceeds the time
  /// limits; InvalidArgument if one of the two hosts refuses the other; Corrupt for a response of
  /// more than `most_bytes`; Cancelled after a stop.
  virtual void call(const PeerHost& host, std::string_view service, Buffer request, const CallLimits& limits,
                    std::stop_token stop, Done done) = 0;
};

/// Makes a call and waits for its answer within `limits`, or until a stop. Must not be called from
/// a thread of a transport.
Result<Buffer> call_and_wait(Transport& transport, const PeerHost& host, std::string_view service, Buffer request,
                             const CallLimits& limits, const std::stop_token& stop);

}  // namespace forebay
