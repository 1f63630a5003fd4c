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

/// Where materialised data is written: files by names below it, such as "_index/part-00001.arrow". Any number of processes may write at once, and be
/// killed at any moment. Calls wait; errors name the file.
class WritingPlace {
 public:
  /// A local folder, or s3://bucket/prefix; `options` are of its store. Asks nobody yet. Unsupported for what cannot be written to.
  static Result<std::shared_ptr<WritingPlace>> open(const std::string& url, const StorageOptions& options,
                                                    std::stop_token stop);
  virtual ~WritingPlace() = default;

  /// As messages call it, and a file in it.
  virtual std::string name() const = 0;
  virtual std::string name_of(const std::string& file) const = 0;

  /// What must be there before anything is written. Takes away what writers that were killed left, as far as it is told from what others write now.
  virtual Status make() const = 0;
  /// Small files as they are now, and sizes; nothing for those that are not there.
  virtual Result<std::vector<std::optional<std::string>>> read(std::span<const std::string> files) const = 0;
  virtual Result<std::vector<std::optional<uint64_t>>> sizes(std::span<const std::string> files) const = 0;
  /// Safe when it returns: whole, or what was there before. Unavailable where it cannot be written; what is done is kept.
  virtual Status write(const std::string& file, const BufferChain& bytes) const = 0;
  /// The same unless there is one already. Where the place cannot tell, the last of those who write at once wins: read it again.
  virtual Status write_new(const std::string& file, const BufferChain& bytes) const = 0;
  /// Takes these files away, those that are not there passed over.
  virtual Status erase(std::span<const std::string> files) const = 0;
  /// Nothing unfinished is left: neither kUnfinishedFolder nor what writers that were killed left elsewhere. Tried only: what cannot be
  /// taken away goes another time.
  virtual void clear() const = 0;
};

Result<std::optional<std::string>> read_file(const WritingPlace& place, const std::string& file);

}  // namespace forebay
