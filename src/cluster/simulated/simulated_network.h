#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "cluster/transport.h"

namespace forebay {

/// The link between hosts. With the same seed, the same requests in the same order are delayed,
/// lost and damaged in the same way.
struct SimulatedLink {
  uint64_t seed = 0;
  std::chrono::microseconds latency{100};  ///< one way
  /// Bandwidth of each sending host; its responses queue for it.
  double bytes_per_second = 1e9;
  double loss = 0;   ///< share of requests that are never answered
  double flips = 0;  ///< share of responses in which one bit is flipped
};

/// State of a simulated host.
enum class HostHealth : uint8_t {
  kWell,
  kDead,    ///< no listener: callers get an error at once
  kFrozen,  ///< it accepts requests and answers none
};

/// Hosts in one process that call each other without sockets, for tests. All its times (latency,
/// limits of calls) are of one clock. Methods may be called from any thread.
class SimulatedNetwork {
 public:
  /// Makes a network. If `manual`, time passes only in advance(). A response that arrives within a
  /// step is delivered before time limits that end in the same step.
  static std::shared_ptr<SimulatedNetwork> make(SimulatedLink link, bool manual = false);
  virtual ~SimulatedNetwork() = default;

  /// Makes a host's transport to the others.
  virtual std::shared_ptr<Transport> transport() = 0;
  virtual void set_link(SimulatedLink link) = 0;
  virtual void set_health(const std::string& address, HostHealth health) = 0;
  virtual void advance(std::chrono::nanoseconds by) = 0;
};

}  // namespace forebay
