#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "cluster/transport.h"
#include "stream/kept_records.h"
#include "stream/stream.h"

namespace forebay {

/// How the ranks of a job give one stream: rank 0 decides which records each chunk has, and the others ask it, chunk after chunk. An answer is tens of bytes; one
/// that is lost is asked for again. Whoever decides keeps as many chunks as the slowest rank may lag behind, and decides no more before that has asked.
/// Over the same connections they lend each other the old records that they keep.
class Decisions {
 public:
  /// Listens at that address. Errors: of Transport::listen().
  static Result<std::shared_ptr<Decisions>> open(std::shared_ptr<Transport> transport, const PeerHost& own);
  ~Decisions();

  /// Where it listens.
  const std::string& address() const { return listening_->address(); }
  /// One host of each rank, of which `rank` is this one.
  void know(std::vector<PeerHost> hosts, int rank);
  /// From now on `stream` decides for all (rank 0), or follows. The stream must live until close().
  void lead_or_follow(Stream& stream);
  /// What this rank keeps, it gives to the others from now on.
  void lend(std::shared_ptr<const KeptRecords> kept);
  /// Asks a rank for records that it keeps: KeptRecords::bytes_of(), one answer for each. Waits, at most a second; errors of Transport::fetch().
  Result<std::vector<AnsweredKey>> ask_for_records(int rank, std::span<const int64_t> numbers,
                                                   const std::stop_token& stop) const;
  /// Before the stream seeks, on all ranks alike: what was decided before is of another run.
  void begin_anew();
  void close();

 private:
  class Kept;      // what rank 0 has decided, for those who ask
  class Followed;  // what the others have been told

  explicit Decisions(std::shared_ptr<Transport> transport);

  const std::shared_ptr<Transport> transport_;
  std::shared_ptr<Kept> kept_;
  std::shared_ptr<Followed> followed_;
  std::vector<PeerHost> hosts_;
  int rank_ = 0;
  std::atomic<uint64_t> seeks_ = 0;
  std::unique_ptr<Listening> listening_;
};

}  // namespace forebay
