#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "forebay/pipeline.h"
#include "forebay/result.h"

namespace forebay {

/// Storage that all hosts share.
struct SimulatedStorage {
  double bytes_per_second = 1e9;
  double latency_seconds = 0;
  double requests_per_second = 0;  ///< how many it answers at most, all hosts together; 0: any number
  int64_t knee = 0;  ///< requests in flight from which it gives its whole rate, and less below; 0: from one on
};

/// Sizes in bytes, times in seconds, rates a second. What is 0 among the rates is no limit.
struct SimulationOptions {
  int64_t hosts = 1;
  int64_t ranks_per_host = 1;
  SimulatedStorage storage = {};
  double link_bytes_per_second = 1.25e9;  ///< of a host, each way; what comes from storage goes through it, too
  double link_latency_seconds = 0;
  uint64_t ram_bytes = 0, disk_bytes = 0;  ///< for keeping samples, a host
  double disk_bytes_per_second = 0;
  double prepare_per_second = 0;  ///< samples that a host decodes and transforms
  double train_per_second = 0;    ///< samples that a rank takes
  int64_t requests = 64;          ///< in flight, a host
  int64_t ahead = 8;              ///< batches fetched ahead

  int64_t samples = 0;                      ///< 0: those of the data set
  std::optional<double> sample_bytes = {};  ///< mean; else of the data set
  double spread = 0.5;                      ///< of the logarithm of a size, where sample_bytes is given
  std::optional<int64_t> batch_size = {};   ///< rows a rank; else of the pipeline
  uint64_t seed = 0;
  int64_t epochs = 3;  ///< at least 2: the first one reads, the last one is what all later ones are like
  int64_t most_rows =
      8'000'000;  ///< of an epoch that are gone through; of more, as many steps as that are, and times are scaled up
  std::function<void()> poll = [] {};  ///< called every now and then; may throw to end it
};

/// One epoch in virtual time. Bytes are those of all hosts.
struct SimulatedEpoch {
  double seconds = 0;
  double wait_seconds = 0;  ///< of that, that ranks waited for rows: all wait for the last one
  double ram_bytes = 0, disk_bytes = 0, peer_bytes = 0, storage_bytes = 0;
  double moved = 0;       ///< share of the rows that came from a peer
  int64_t transfers = 0;  ///< pairs of a host and a rank of another that rows went between, in the step with most
  double imbalance =
      0;  ///< of a step: the most bytes that a host takes from peers and storage over the mean; the mean of steps
  double imbalance_high = 0;  ///< the same of the worst step
};

/// What one way to load gives.
struct SimulatedRun {
  std::string policy;  ///< "local", "count", "regular", "clairvoyant"
  std::vector<SimulatedEpoch> epochs;
  const SimulatedEpoch& steady() const { return epochs.back(); }
};

/// An epoch by arithmetic: max(train, storage + peers + prepare), each for all that passes there.
struct AnalyticalModel {
  double train = 0, storage = 0, peers = 0, prepare = 0;  ///< seconds
  double kept = 0;                                        ///< a: share of the samples that some host keeps
  double moved = 0;  ///< b: share of those that are moved: 1 / sqrt(2 pi l) for l rows a host and step
  double seconds() const;
};

/// What another machine would give.
struct SimulatedChange {
  std::string change;
  double gain = 1;  ///< times as fast a later epoch
};

struct Simulation {
  SimulationOptions options;  ///< with the figures of the data set
  double share_gone_through = 1;
  std::vector<SimulatedRun> runs;  ///< "local" first, then what it is compared with
  AnalyticalModel model;           ///< of "local" from the second epoch on
  std::vector<SimulatedChange> changes;
  const SimulatedRun& local() const { return runs.front(); }
  /// Times as fast as loading all from storage in every epoch.
  double gain() const;
};

/// Runs the plan of a pipeline (order, deal, placement) over modelled hosts, links and storage, in virtual time, beside three other ways:
/// "regular", which keeps nothing; "count", a distributed cache that does not look at who has what; "clairvoyant", which keeps on each host what
/// that host will ask for most, as NoPFS does. Every rank takes a step when all have their rows. Data that is read in groups is modelled row by
/// row.
///
/// `pipeline` may have no value: then `samples`, `sample_bytes` and `batch_size` must be given. The data set is opened where one of the first two is
/// not. InvalidArgument for figures that cannot be, and for data sets whose sizes are not known without reading.
Result<Simulation> simulate(const std::optional<Pipeline>& pipeline, SimulationOptions options);

/// For people, and as JSON (docs/simulate.md).
std::string to_text(const Simulation& simulation);
std::string to_json(const Simulation& simulation);

}  // namespace forebay
