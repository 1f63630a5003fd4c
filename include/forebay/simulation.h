#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "forebay/diagnosis.h"
#include "forebay/pipeline.h"
#include "forebay/result.h"

namespace forebay {

/// Storage that all hosts share.
struct SimulatedStorage {
  double bytes_per_second = 1e9;
  double latency_seconds = 0;
  double requests_per_second = 0;  ///< limit for all hosts together; 0: none
  /// Requests in flight that the storage needs to reach its full rate. Below, the rate falls in
  /// proportion. 0: one request is enough.
  int64_t knee = 0;
};

/// Parameters of simulate(). Sizes are in bytes, times in seconds, rates per second. A rate of 0 is
/// no limit.
struct SimulationOptions {
  int64_t hosts = 1;
  int64_t ranks_per_host = 1;
  SimulatedStorage storage = {};
  double link_bytes_per_second = 1.25e9;  ///< per host and direction, storage traffic included
  double link_latency_seconds = 0;
  uint64_t ram_bytes = 0, disk_bytes = 0;  ///< space for samples on one host
  double disk_bytes_per_second = 0;
  double prepare_per_second = 0;  ///< samples that one host decodes and transforms
  double train_per_second = 0;    ///< samples that one rank consumes
  int64_t requests = 64;          ///< requests in flight of one host
  int64_t ahead = 8;              ///< batches that are fetched ahead

  int64_t samples = 0;                      ///< 0: as in the data set
  std::optional<double> sample_bytes = {};  ///< mean size; by default as in the data set
  /// Standard deviation of log(size), used with sample_bytes.
  double spread = 0.5;
  std::optional<int64_t> batch_size = {};  ///< rows per rank; by default as in the pipeline
  uint64_t seed = 0;
  int64_t epochs = 3;  ///< at least 2: the first one reads, the last one stands for all later ones
  /// Rows of an epoch that are simulated. In a larger epoch only the first steps, with as many
  /// rows, are simulated, and times are scaled up.
  int64_t most_rows = 8'000'000;
  std::function<void()> poll = [] {};  ///< called now and then; may throw to end the simulation
  /// Opens the pipeline itself, if values decide which samples come when.
  OpenChanged open = {};
};

/// One epoch in virtual time. Bytes are the sum over all hosts.
struct SimulatedEpoch {
  double seconds = 0;
  double wait_seconds = 0;  ///< part of `seconds` in which ranks waited for the last row
  double ram_bytes = 0, disk_bytes = 0, peer_bytes = 0, storage_bytes = 0;
  double moved = 0;       ///< share of the rows that came from a peer
  int64_t transfers = 0;  ///< most pairs (host, rank of another host) that exchanged rows in a step
  /// Most bytes that one host receives from peers and storage in a step, over the mean of all
  /// hosts; averaged over the steps.
  double imbalance = 0;
  double imbalance_high = 0;  ///< the same for the worst step
};

/// Result of one way to load.
struct SimulatedRun {
  std::string policy;  ///< "local", "count", "regular", "clairvoyant"
  std::vector<SimulatedEpoch> epochs;
  const SimulatedEpoch& steady() const { return epochs.back(); }
};

/// Closed formula for the duration of an epoch: max(train, storage + peers + prepare).
struct AnalyticalModel {
  double train = 0, storage = 0, peers = 0, prepare = 0;  ///< seconds for one epoch
  /// The a of docs/reference/simulate.md: share of the samples that some host stores.
  double kept = 0;
  /// The b of docs/reference/simulate.md: share of those that are sent to a peer, 1 / sqrt(2 pi l)
  /// for l rows per host and step.
  double moved = 0;
  double seconds() const;
};

/// Effect of a change of the hardware or of the batch size.
struct SimulatedChange {
  std::string change;
  double gain = 1;  ///< speed of a later epoch, relative to that without the change
};

/// Result of simulate().
struct Simulation {
  SimulationOptions options;       ///< options, completed with the figures of the data set
  double share_gone_through = 1;   ///< share of each epoch that was simulated
  std::vector<SimulatedRun> runs;  ///< "local" first, then the ways that it is compared with
  AnalyticalModel model;           ///< model of "local" from the second epoch on
  std::vector<SimulatedChange> changes;
  const SimulatedRun& local() const { return runs.front(); }
  /// Returns the speed of "local" relative to reading everything from storage in every epoch.
  double gain() const;
};

/// Runs the plan of a pipeline (order, shard assignment, placement) over modelled hosts, links and
/// storage in virtual time. All ranks take a step together, once the last row has arrived. Data
/// that is stored in row groups is modelled row by row.
///
/// Besides "local", Forebay's own way, three others are simulated: "regular" stores nothing on the
/// hosts; "count" is a distributed cache whose shard assignment ignores where rows are;
/// "clairvoyant" stores on each host what that host will need most, as NoPFS does.
///
/// `pipeline` may be empty if `samples`, `sample_bytes` and `batch_size` are given. The data set is
/// opened only if one of the first two is missing. If values decide which samples come when (draws,
/// batches of like lengths), a loader reads them and plans all epochs, up to 2^25 rows.
///
/// Errors: InvalidArgument for figures out of range, and for data sets whose sample sizes are not
/// known without reading; Unsupported for more rows than that; those of Loader::open() and prepare().
Result<Simulation> simulate(const std::optional<Pipeline>& pipeline, SimulationOptions options);

/// Returns the result as text for people.
std::string to_text(const Simulation& simulation);
/// Returns the result as JSON, described in docs/reference/simulate.md.
std::string to_json(const Simulation& simulation);

}  // namespace forebay
