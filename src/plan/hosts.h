#pragma once

#include <algorithm>
#include <cstdint>

namespace forebay {

/// The hosts of a job: host h has the ranks h × ranks_per_host and on, the last one those that are left. Both numbers are 1 or
/// larger.
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
