#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forebay/batch.h"
#include "forebay/loader.h"

namespace forebay {

struct Ledger;

/// Source of the batches of one client, inside the server. Its ClientSession owns it. Functions
/// with the name of one of Loader's mean the same here. Any thread may call close(), stats(),
/// errors() and shares(); only the client's thread calls the others.
class Feed {
 public:
  virtual ~Feed() = default;

  virtual Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) = 0;
  /// Returns a loader whose position is that of the client. Other loaders may compute the batches.
  virtual Loader& position() = 0;
  /// Reports that the caller has changed the position, so that the next batch is another one.
  virtual void position_changed() = 0;
  /// Forbids the feed to change loaders until unpin_loader(). A trace, for example, would end with
  /// its loader.
  virtual void pin_loader() {}
  virtual void unpin_loader() {}
  virtual Ledger stats() const = 0;
  virtual std::vector<ErrorEntry> errors() const = 0;
  virtual void close() = 0;
  /// Describes for people what it shares with which clients. Empty if it shares nothing.
  virtual std::string shares() const = 0;
};

}  // namespace forebay
