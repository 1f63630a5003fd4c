#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cache/cache.h"
#include "cluster/peer_store.h"
#include "cluster/transport.h"
#include "forebay/ledger.h"
#include "loader/peers/home_host.h"

namespace forebay {

struct PeerGroupInput {
  std::vector<PeerHost> hosts;  ///< one of each rank
  int rank = 0;                 ///< which of them is this one
};

/// A loader's place among the hosts of its job: what its caches keep is given to the others, and they are asked for what is not here.
class PeerGroup : public std::enable_shared_from_this<PeerGroup> {
 public:
  /// Listens at the address of `rank`. Errors: of Transport::listen().
  static Result<std::shared_ptr<PeerGroup>> open(std::shared_ptr<Transport> transport, PeerGroupInput input);

  /// Serves what `cache` keeps from now on, and puts the peers behind it.
  std::shared_ptr<TieredCache> join(std::shared_ptr<TieredCache> cache);
  /// Before anything is looked for in these caches; nobody is asked until then.
  void set_home(HomeHost home);
  /// Nothing is served any more; asking goes on.
  void close();

  /// A store of each peer that was ever asked something: "peer host:port".
  void add_to(Ledger& ledger) const;

 private:
  class CacheKeys;
  PeerGroup(std::shared_ptr<Transport> transport, PeerGroupInput input);
  PeerStore* peer_of(int64_t element) const;

  const int rank_;
  const std::shared_ptr<Transport> transport_;
  const std::shared_ptr<CacheKeys> keys_;
  std::vector<std::string> names_;
  std::vector<std::shared_ptr<PeerStore>> peers_;  ///< null: this host
  HomeHost home_;
  std::mutex mutex_;
  std::unique_ptr<Listening> listening_;
};

}  // namespace forebay
