#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forebay/batch.h"
#include "forebay/ledger.h"
#include "forebay/loader.h"

namespace forebay {

/// Where the batches of one client come from, inside the server. What is not said here is as of a Loader; close() and the counters
/// may be asked from any thread, everything else from the client's own.
class Feed {
 public:
  virtual ~Feed() = default;

  virtual Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) = 0;
  /// Stands where the client stands, whoever made its batches.
  virtual Loader& position() = 0;
  /// The position was changed from outside: what follows is not what came next.
  virtual void moved() = 0;
  /// What goes on (a trace) would end with a change of loaders: none meanwhile.
  virtual void stay(bool /*stays*/) {}
  virtual Ledger stats() const = 0;
  virtual std::vector<ErrorEntry> errors() const = 0;
  virtual void close() = 0;
  /// In words, for people: whom it shares its work with. Empty: nobody.
  virtual std::string shares() const = 0;
};

}  // namespace forebay
