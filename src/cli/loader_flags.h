#pragma once

#include <optional>
#include <string>

#include "cli/command_line.h"
#include "cli/storage_flags.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"

namespace forebay {

/// The options of a loader under the names they have in every face: --seed, --threads, --on-error, …
/// Must not move before parse() has returned: the line writes to it. kBasic are --seed, --epochs and --threads; kStreams are all,
/// with those that streams need.
class LoaderFlags {
 public:
  enum class Which { kBasic, kAll, kStreams };
  LoaderFlags(CommandLine& line, Which which);

  /// After CommandLine::parse().
  LoaderOptions options() const;

 private:
  LoaderOptions options_;
  std::string on_error_ = "raise", shard_by_ = "auto";
  std::optional<StorageFlags> storage_;
};

/// --shard-by, into `name`, which must be "auto" and live until the line is read; and what it then says.
void add_shard_by(CommandLine& line, std::string& name);
ShardBy shard_by_named(const std::string& name);

/// What a stream must be given for its epochs to end, under the name that it has here.
Status check_ends(const Pipeline& pipeline, const LoaderOptions& options);

}  // namespace forebay
