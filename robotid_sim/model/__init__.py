"""What a robot is: bodies, joints, friction, and their URDF form."""
