#pragma once

#include <memory>
#include <vector>

#include "base/source.h"
#include "cache/cache.h"
#include "cluster/entry_service.h"
#include "cluster/job.h"
#include "cluster/peer_store.h"
#include "forebay/ledger.h"
#include "loader/peers/entry_owner.h"
#include "loader/peers/peer_cache.h"

namespace forebay {

/// The cache entries that the ranks of a job lend each other: serves what the caches of this loader keep, and
/// puts the caches of the other ranks behind them.
///
/// Made and set up by the loader, on its thread; caches and the job's listener use it from theirs. It shares
/// the job, and holds caches of this loader weakly.
class PeerGroup : public std::enable_shared_from_this<PeerGroup> {
 public:
  PeerGroup();
  /// Served by the listener of the job as kEntryServiceName. It may outlive this group.
  std::shared_ptr<Service> service() const;
  /// Before caches join.
  void join_job(std::shared_ptr<Job> job);
  const std::shared_ptr<Job>& job() const { return job_; }

  /// Serves what `cache` keeps from now on, and puts the peers behind it.
  std::shared_ptr<TieredCache> join(std::shared_ptr<TieredCache> cache);
  /// Before anything is looked for in these caches; nobody is asked until then.
  void set_owner(OwnerOf owner);
  /// Tells the others what is learned of the versions of its samples. Before set_owner().
  void set_versions(std::shared_ptr<const Source> source);
  /// The next batch that this loader gives begins at that position of that epoch: what is owned here and comes later in the first epoch will
  /// be made, and the others are told to wait for it.
  void stands_at(int64_t epoch, int64_t position);

  /// A store of each peer that was ever asked something: "peer host:port".
  void add_to(Ledger& ledger) const;

 private:
  class Entries;
  PeerPlace peer_of(int64_t element) const;

  const std::shared_ptr<Entries> entries_;
  std::shared_ptr<Job> job_;
  std::vector<std::shared_ptr<PeerStore>> peers_;  ///< by rank; null: this rank itself
};

}  // namespace forebay
