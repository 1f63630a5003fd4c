#pragma once

#include <algorithm>
#include <cstdint>

namespace forebay {

/// The hosts of a job. Host h has ranks_per_host ranks from h × ranks_per_host on; the last host
/// has the remaining ones. Both numbers are at least 1.
struct Hosts {
  int64_t world_size = 1;
  int64_t ranks_per_host = 1;

  int64_t count() const { return (world_size + ranks_per_host - 1) / ranks_per_host; }
  int64_t of_rank(int64_t rank) const { return rank / ranks_per_host; }
  int64_t first_rank(int64_t host) const { return std::min(host * ranks_per_host, world_size); }
  int64_t ranks(int64_t host) const { return first_rank(host + 1) - first_rank(host); }
  friend bool operator==(const Hosts&, const Hosts&) = default;
};

}  // namespace forebay
