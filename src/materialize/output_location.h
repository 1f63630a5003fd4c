#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer_chain.h"
#include "forebay/result.h"
#include "format/files/open_store.h"

namespace forebay {

/// Folder or bucket prefix to which materialised data is written: files with names such as
/// "_index/part-00001.arrow". Any number of processes may write at once, and may be killed at any
/// moment. Calls block; errors name the file.
class OutputLocation {
 public:
  /// Opens a local folder, or s3://bucket/prefix with the `options` of its store, without any
  /// access yet. Unsupported for other URLs.
  static Result<std::shared_ptr<OutputLocation>> open(const std::string& url, const StorageOptions& options,
                                                      std::stop_token stop);
  virtual ~OutputLocation() = default;

  /// Names of the location, and of a file in it, for messages.
  virtual std::string name() const = 0;
  virtual std::string name_of(const std::string& file) const = 0;

  /// Prepares the location for writing. Deletes the remains of killed writers if they can be
  /// distinguished from writes in progress.
  virtual Status make() const = 0;
  /// Return the content or the size of each file; nothing for a missing one. For small files.
  virtual Result<std::vector<std::optional<std::string>>> read(std::span<const std::string> files) const = 0;
  virtual Result<std::vector<std::optional<uint64_t>>> sizes(std::span<const std::string> files) const = 0;
  /// Writes a file. It is durable when the call returns. Others see the old or the new content, but
  /// no part. Unavailable if it cannot be written; files that were written before stay.
  virtual Status write(const std::string& file, const BufferChain& bytes) const = 0;
  /// The same, unless the file exists. If the location cannot tell, the last of several concurrent
  /// writers wins, so read the file again.
  virtual Status write_new(const std::string& file, const BufferChain& bytes) const = 0;
  /// Deletes these files. Missing ones are ignored.
  virtual Status erase(std::span<const std::string> files) const = 0;
  /// Deletes kUnfinishedFolder, and the remains of killed writers elsewhere. Best effort: it
  /// reports no error, and leaves what cannot be deleted.
  virtual void clear() const = 0;
};

Result<std::optional<std::string>> read_file(const OutputLocation& location, const std::string& file);

}  // namespace forebay
