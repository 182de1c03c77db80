# Debian's libzookeeper-mt-dev has neither a .pc nor a CMake file. Defines the imported target ZooKeeper::mt.
find_path(ZooKeeper_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZooKeeper_LIBRARY zookeeper_mt)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZooKeeper
  REASON_FAILURE_MESSAGE "install Debian's libzookeeper-mt-dev"
  REQUIRED_VARS ZooKeeper_LIBRARY ZooKeeper_INCLUDE_DIR)
if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::mt)
  add_library(ZooKeeper::mt UNKNOWN IMPORTED)
  set_target_properties(ZooKeeper::mt PROPERTIES
    IMPORTED_LOCATION "${ZooKeeper_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS THREADED)
endif()
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_LIBRARY)
