#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "base/hash.h"
#include "cluster/run_terms.h"
#include "cluster/transport.h"
#include "forebay/result.h"

namespace forebay {

/// Under which key rank 0 tells what its run is of: RunTerms::to_json().
Hash128 run_terms_key();

/// Whether a rank has the run that rank 0 has, by what rank 0 tells. It has no thread and waits for nobody: whoever takes batches looks, and rank 0 is asked
/// meanwhile, until it has answered once.
class RunCheck {
 public:
  RunCheck(std::shared_ptr<Transport> transport, PeerHost leader, int rank, RunTerms terms);
  /// Does not wait for an answer that is on its way.
  ~RunCheck() { stop_.request_stop(); }

  /// StateMismatch, from when rank 0 has told of another run; OK before, and where it tells nothing. From one thread.
  Status look();

 private:
  struct Answer;

  const std::shared_ptr<Transport> transport_;
  const PeerHost leader_;
  const std::shared_ptr<Answer> answer_;
  std::stop_source stop_;
};

}  // namespace forebay
