# nandlab::nandlab, a target to link: nandlab.h and libnandlab. A shared object for `nandlab prove` needs the header alone:
# nandlab::header.
get_filename_component(nandlab_lib "${CMAKE_CURRENT_LIST_DIR}/../lib" REALPATH)

if(NOT TARGET nandlab::nandlab)
  add_library(nandlab::nandlab SHARED IMPORTED)
  set_target_properties(nandlab::nandlab PROPERTIES
    IMPORTED_LOCATION "${nandlab_lib}/libnandlab.so"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${nandlab_lib}/include")
  add_library(nandlab::header INTERFACE IMPORTED)
  set_target_properties(nandlab::header PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${nandlab_lib}/include")
endif()
