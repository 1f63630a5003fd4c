#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace forebay {

/// `--storage-option KEY=VALUE`, as often as wanted.
/// Given twice, a key has its last value. Whether a store knows it is the store's to say (open_store()).
class StorageFlags {
 public:
  explicit StorageFlags(CommandLine& line);
  StorageFlags(const StorageFlags&) = delete;
  StorageFlags& operator=(const StorageFlags&) = delete;

  /// After CommandLine::parse().
  std::map<std::string, std::string> options() const;

 private:
  std::vector<std::string> given_;
};

}  // namespace forebay
