#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "cluster/transport.h"

namespace forebay {

/// What lies between hosts: the same seed and the same requests in the same order have the same fate.
struct SimulatedLink {
  uint64_t seed = 0;
  std::chrono::microseconds latency{100};  ///< one way
  double bytes_per_second = 1e9;           ///< of each host that sends; responses wait for each other
  double loss = 0;                         ///< of requests: these are never answered
  double flips = 0;                        ///< of responses: one bit of these comes the other way round
};

/// How a host of it is.
enum class HostHealth : uint8_t {
  kWell,
  kDead,    ///< nobody listens: whoever asks is told at once
  kFrozen,  ///< it takes requests and answers none
};

/// Hosts in one process that call each other without a socket: the twin of the network for tests. All its
/// times (latency, limits of calls) are of one clock. May be used from any thread.
class SimulatedNetwork {
 public:
  /// `manual`: time goes on with advance() alone. What arrives within one step comes before limits that end in it.
  static std::shared_ptr<SimulatedNetwork> make(SimulatedLink link, bool manual = false);
  virtual ~SimulatedNetwork() = default;

  /// A host's way to the others.
  virtual std::shared_ptr<Transport> transport() = 0;
  virtual void set_link(SimulatedLink link) = 0;
  virtual void set_health(const std::string& address, HostHealth health) = 0;
  virtual void advance(std::chrono::nanoseconds by) = 0;
};

}  // namespace forebay
