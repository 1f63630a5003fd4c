#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace forebay {

/// The flag `--storage-option KEY=VALUE`, or one of another name for another store. It may be
/// repeated, and the last value of a key counts. open_store() checks the keys.
class StorageFlags {
 public:
  explicit StorageFlags(CommandLine& line, const std::string& flag = "--storage-option",
                        const std::string& help = "option of the store; may be repeated");
  StorageFlags(const StorageFlags&) = delete;
  StorageFlags& operator=(const StorageFlags&) = delete;

  /// Returns the options. Call it after CommandLine::parse().
  std::map<std::string, std::string> options() const;
  bool given() const { return !given_.empty(); }

 private:
  std::vector<std::string> given_;
};

}  // namespace forebay
