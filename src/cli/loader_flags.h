#pragma once

#include <optional>
#include <string>

#include "cli/command_line.h"
#include "cli/storage_flags.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"

namespace forebay {

/// The options of a loader as flags: --seed, --threads, --on-error, … The command line writes to
/// this object, so it must not move until parse() has returned. kBasic are --seed, --epochs and
/// --threads; kStreams are all flags and those for streams.
class LoaderFlags {
 public:
  enum class Which { kBasic, kAll, kStreams };
  LoaderFlags(CommandLine& line, Which which);

  /// Returns the options. Call it after CommandLine::parse().
  LoaderOptions options() const;

 private:
  LoaderOptions options_;
  std::string on_error_ = "raise", shard_by_ = "auto";
  std::optional<StorageFlags> storage_;
};

/// Adds --shard-by, which sets `name`. `name` must be "auto" and live until parse() has returned.
void add_shard_by(CommandLine& line, std::string& name);
ShardBy shard_by_named(const std::string& name);

/// Returns InvalidArgument, with the name of the flag, if a stream lacks the option that ends its
/// epochs.
Status check_epoch_end(const Pipeline& pipeline, const LoaderOptions& options);

}  // namespace forebay
