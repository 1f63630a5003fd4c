#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/source.h"
#include "cache/cache.h"
#include "cluster/peer_store.h"
#include "cluster/run_terms.h"
#include "cluster/transport.h"
#include "forebay/ledger.h"
#include "loader/peers/home_host.h"
#include "loader/peers/peer_cache.h"
#include "loader/peers/run_check.h"

namespace forebay {

/// A loader's place among the hosts of its job: what its caches keep is given to the others, and they are asked for what is not here.
class PeerGroup : public std::enable_shared_from_this<PeerGroup> {
 public:
  /// Listens at that address. Errors: of Transport::listen().
  static Result<std::shared_ptr<PeerGroup>> open(std::shared_ptr<Transport> transport, const PeerHost& own);
  /// Where it listens.
  const std::string& address() const { return address_; }
  /// Who the others are: one host of each rank, of which `rank` is this one. Before caches join.
  void know(std::vector<PeerHost> hosts, int rank);

  /// Serves what `cache` keeps from now on, and puts the peers behind it.
  std::shared_ptr<TieredCache> join(std::shared_ptr<TieredCache> cache);
  /// Before anything is looked for in these caches; nobody is asked until then.
  void set_home(HomeHost home);
  /// Tells the others what is learned of the versions of its samples. Before set_home().
  void set_versions(std::shared_ptr<const Source> source);
  /// What all ranks must have alike, once it is known: rank 0 tells it, and the others compare it with theirs.
  void set_run(RunTerms terms);
  /// StateMismatch where this rank has another run than rank 0, soon after both have set theirs; see RunCheck::look().
  Status check_run() { return check_ ? check_->look() : Status(); }
  /// The next batch that this loader gives begins at that position of that epoch: what is at home here and comes later in the first epoch will
  /// be made, and the others are told to wait for it.
  void stands_at(int64_t epoch, int64_t position);
  void keep_until_closed(std::shared_ptr<const void> held) { held_ = std::move(held); }
  /// Nothing is served any more; asking goes on.
  void close();

  /// A store of each peer that was ever asked something: "peer host:port".
  void add_to(Ledger& ledger) const;

 private:
  class CacheKeys;
  explicit PeerGroup(std::shared_ptr<Transport> transport);
  PeerPlace peer_of(int64_t element) const;

  const std::shared_ptr<Transport> transport_;
  const std::shared_ptr<CacheKeys> keys_;
  std::string address_;
  std::vector<std::string> names_;
  std::vector<std::shared_ptr<PeerStore>> peers_;  ///< null: this host itself
  PeerHost leader_;
  int rank_ = -1;
  std::unique_ptr<RunCheck> check_;  ///< null: of rank 0, and before set_run()
  std::mutex mutex_;
  std::unique_ptr<Listening> listening_;
  std::shared_ptr<const void> held_;
};

}  // namespace forebay
