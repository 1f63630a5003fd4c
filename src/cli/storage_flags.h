#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace forebay {

/// `--storage-option KEY=VALUE`, as often as wanted; or a flag of another name, for another store.
/// Given twice, a key has its last value. Whether a store knows it is the store's to say (open_store()).
class StorageFlags {
 public:
  explicit StorageFlags(CommandLine& line, const std::string& flag = "--storage-option",
                        const std::string& help = "for the store; may be repeated");
  StorageFlags(const StorageFlags&) = delete;
  StorageFlags& operator=(const StorageFlags&) = delete;

  /// After CommandLine::parse().
  std::map<std::string, std::string> options() const;
  bool given() const { return !given_.empty(); }

 private:
  std::vector<std::string> given_;
};

}  // namespace forebay
